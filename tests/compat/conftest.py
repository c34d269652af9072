"""Servers of the tests: the real binary, named by ARGOSY_BIN, on data directories of their own."""

import os
import pathlib
import re
import subprocess
import threading
from dataclasses import dataclass, field

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DEADLINE_S = 60


@dataclass
class Program:
    """A program that runs until the test ends; what it prints is kept."""

    args: list
    env: dict
    cwd: pathlib.Path
    lines: list = field(default_factory=list)

    def __post_init__(self):
        self.process = subprocess.Popen(
            self.args,
            env=self.env,
            cwd=self.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()
        with self.news:
            self.lines.append(None)
            self.news.notify_all()

    def wait_for(self, pattern):
        """The match of a pattern in what the program prints, once it is there."""

        def found():
            text = "".join(line for line in self.lines if line is not None)
            match = re.search(pattern, text)
            return match or (None in self.lines and AssertionError(f"ended:\n{text}"))

        with self.news:
            match = self.news.wait_for(found, DEADLINE_S)
        if not isinstance(match, re.Match):
            raise match or AssertionError(f"{pattern} never came:\n{self.lines}")
        return match

    def stop(self):
        self.process.terminate()
        self.process.wait(DEADLINE_S)
        self.reader.join(DEADLINE_S)


@pytest.fixture
def start(tmp_path):
    """Starts programs and stops them when the test ends."""
    programs = []

    def start(*args, env=None):
        program = Program([str(arg) for arg in args], environment(env), tmp_path)
        programs.append(program)
        return program

    yield start
    for program in reversed(programs):
        program.stop()


def environment(extra=None):
    """The environment without settings of whoever runs the tests."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ARGOSY_", "AWS_"))}
    own["AWS_EC2_METADATA_DISABLED"] = "true"
    return own | (extra or {})


@pytest.fixture(scope="session")
def argosy():
    """The binary."""
    return os.environ["ARGOSY_BIN"]


@pytest.fixture
def run(argosy, tmp_path):
    """Runs an argosy command to its end: its standard output."""

    def run(*args, env=None, code=0):
        done = subprocess.run(
            [argosy, *[str(arg) for arg in args]],
            env=environment(env),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run
