-- SQL in the crate is of the subset that SQLite and Postgres share. Here a number that is a primary
-- key is INTEGER, which in SQLite is the row's own number and needs no index beside the table.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- One row a commit: the turns of many runs.
CREATE TABLE log (
    seq    INTEGER PRIMARY KEY,
    at_ms  BIGINT  NOT NULL,
    record BYTEA   NOT NULL
);

-- One row a run: its last state, for lists.
CREATE TABLE runs (
    id           INTEGER PRIMARY KEY,
    space        TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    uid          TEXT   NOT NULL,
    door         TEXT   NOT NULL,
    phase        TEXT   NOT NULL,
    message      TEXT   NOT NULL,
    priority     BIGINT NOT NULL,
    accepted_ms  BIGINT NOT NULL,
    ended_ms     BIGINT NOT NULL,
    -- When the run is deleted by itself; 0 for never.
    expires_ms   BIGINT NOT NULL,
    suspended    BIGINT NOT NULL,
    labels       TEXT   NOT NULL,
    steps        BIGINT NOT NULL,
    done         BIGINT NOT NULL,
    -- The commit up to which the run's parts are current; 0 for none.
    snapshot_seq BIGINT NOT NULL,
    archived     BIGINT NOT NULL
);

CREATE UNIQUE INDEX runs_by_name ON runs (space, name);
CREATE INDEX runs_live ON runs (id) WHERE archived = 0;
CREATE INDEX runs_expiring ON runs (expires_ms) WHERE expires_ms > 0;

-- Pieces of live runs: spec, head, pages of steps, items of loops.
CREATE TABLE parts (
    run  BIGINT NOT NULL,
    part TEXT   NOT NULL,
    data BYTEA  NOT NULL,
    PRIMARY KEY (run, part)
);

-- Finished runs, whole.
CREATE TABLE archive (
    run  INTEGER PRIMARY KEY,
    data BYTEA NOT NULL
);

-- Named objects that runs refer to: templates, configuration maps, secrets.
CREATE TABLE objects (
    space      TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    version    BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    data       BYTEA  NOT NULL,
    PRIMARY KEY (space, kind, name)
);

-- Outputs that later steps may take instead of running.
CREATE TABLE memos (
    space      TEXT   NOT NULL,
    cache      TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    created_ms BIGINT NOT NULL,
    data       BYTEA  NOT NULL,
    PRIMARY KEY (space, cache, name)
);
