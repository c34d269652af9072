//! From a process of the spec to an order for the spawner.

use super::backend::House;
use super::env::{self, Env};
use super::fault::cannot_start;
use super::fit;
use super::jobs;
use super::layout::{Layout, make_folder};
use super::plan::{Level, Member, normal};
use super::view::View;
use super::volumes;
use crate::images::{Kind, PATH};
use crate::logs::Stream;
use argosy_blob::Space;
use argosy_model::{AttemptId, Diagnostic, ProcessSpec};
use argosy_spawn::{Bind, Isolation, Limits, Start};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where our own files are shown in an isolated process.
const OWN: &str = "/tmp/.argosy";

/// Links to tools, which lead to [`OWN_EXE`].
const OWN_BIN: &str = "/tmp/.argosy/bin";

/// The product's own binary.
const OWN_EXE: &str = "/tmp/.argosy/argosy";

/// Everything that an order of an attempt needs.
#[derive(Debug)]
pub struct Orders {
    pub attempt: AttemptId,
    pub spec: ProcessSpec,
    pub name: String,
    pub space: String,
    pub layout: Layout,
    pub level: Level,
}

impl Orders {
    /// Orders a process. Its variables are looked up now.
    ///
    /// # Errors
    /// What a person should read: something is missing or not allowed.
    pub async fn start(&self, member: &Member, house: &House) -> Result<Start, Diagnostic> {
        let mut env = self.own_env(member, house);
        let added = env::add(&mut env, &member.container, &*house.values, &self.space).await;
        added.map_err(cannot_start)?;
        if let Some(door) = &house.objects {
            let space = Space::new(&self.space)?;
            // Again the same after a restart: what is running has been given it.
            let keys = door.keys.mint(&space, &[""], self.attempt);
            env::add_objects(&mut env, &door.endpoint, &keys);
        }
        let argv = self.argv(member, house, &env).map_err(cannot_start)?;
        let env = env.into_pairs();
        fit::check(&member.container.name, &argv, &env)?;
        if !self.sees_own(member, house) {
            let made = self.layout.make_own();
            made.map_err(|error| cannot_start(format!("cannot make its folder: {error}")))?;
        }
        let binds = self.binds(member, house)?;
        let isolation = self.isolation(member).map_err(|error| cannot_start(error.to_string()))?;
        let name = &member.container.name;
        Ok(Start {
            id: jobs::id(self.attempt, member.index),
            argv,
            env,
            cwd: self.working_dir(member).map_err(cannot_start)?,
            stdout: Some(self.layout.log(name, Stream::Out)),
            stderr: Some(self.layout.log(name, Stream::Err)),
            isolation,
            binds,
            limits: self.limits(member, house).await,
        })
    }

    /// The limit of memory: of all its processes together, or of each where that cannot be had.
    async fn limits(&self, member: &Member, house: &House) -> Limits {
        match Some(member.container.claim.limits.memory_bytes).filter(|bytes| *bytes > 0) {
            None => Limits::default(),
            bytes if house.no_memory_limits().await.is_none() => {
                Limits { memory_bytes: bytes, ..Limits::default() }
            }
            bytes => Limits { data_bytes: bytes, ..Limits::default() },
        }
    }

    /// Whether a process finds our files where the machine has them. Each mount costs it waiting,
    /// so they are shown elsewhere only where they must be.
    fn sees_own(&self, member: &Member, house: &House) -> bool {
        let hidden = |path: &Path| {
            let mounts = member.container.mounts.iter().map(|mount| &mount.path);
            let covers = mounts.chain(self.spec.inputs.iter().map(|input| &input.path));
            ["/tmp", "/var/tmp"].iter().any(|folder| path.starts_with(folder))
                || covers.into_iter().any(|cover| path.starts_with(cover))
        };
        match self.level {
            Level::None => true,
            Level::PrivateTmp => !hidden(&house.data_dir) && !hidden(&house.exe),
            Level::PrivateRoot => false,
        }
    }

    fn own_env(&self, member: &Member, house: &House) -> Env {
        let mut env = Env::default();
        let bin = match &member.image.kind {
            Kind::Folder(_) => None,
            _ if self.sees_own(member, house) => {
                Some(house.data_dir.join("bin").display().to_string())
            }
            _ => Some(OWN_BIN.to_owned()),
        };
        env.set("PATH", bin.map_or(PATH.to_owned(), |bin| format!("{bin}:{PATH}")));
        let home = if self.level == Level::PrivateRoot { "/root" } else { &*house.home };
        env.set("HOME", home);
        let tmp = match self.level {
            Level::None => self.layout.tmp().display().to_string(),
            _ => "/tmp".to_owned(),
        };
        env.set("TMPDIR", tmp);
        env.set("ARGOSY_STEP", &*self.name);
        env
    }

    fn argv(&self, member: &Member, house: &House, env: &Env) -> Result<Vec<String>, String> {
        let container = &member.container;
        let words = member.image.argv(&container.command, &container.args).ok_or_else(|| {
            format!(
                "container {:?} has no command, and that of image {:?} is not known here; \
                 set `command`",
                container.name, container.image
            )
        })?;
        let mut argv: Vec<_> = words.into_iter().map(|word| env.expand(word)).collect();
        if let Some(tool) = argv.first().and_then(|program| member.image.own_tool(program)) {
            argv[0] = tool.to_owned();
        }
        if let Some(script) = &container.script {
            let name = format!("script-{}", member.index);
            self.write_script(&name, script)
                .map_err(|error| format!("cannot write the script: {error}"))?;
            let folder = match self.sees_own(member, house) {
                true => self.layout.own().display().to_string(),
                false => OWN.to_owned(),
            };
            argv.push(format!("{folder}/{name}"));
        }
        Ok(argv)
    }

    fn write_script(&self, name: &str, script: &str) -> io::Result<()> {
        make_folder(&self.layout.own())?;
        let path = self.layout.own().join(name);
        fs::write(&path, script)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    }

    fn working_dir(&self, member: &Member) -> Result<PathBuf, String> {
        let chosen = [&member.container.working_dir, &member.image.working_dir];
        match chosen.into_iter().find(|folder| !folder.is_empty()) {
            Some(folder) => normal(folder),
            // What a process leaves in its working directory must not end up on the machine.
            None => Ok(match self.level {
                Level::None => self.layout.tmp(),
                Level::PrivateTmp => "/tmp".into(),
                Level::PrivateRoot => "/".into(),
            }),
        }
    }

    /// Volumes first: inputs may lie in them.
    fn binds(&self, member: &Member, house: &House) -> Result<Vec<Bind>, Diagnostic> {
        if self.level == Level::None {
            return Ok(Vec::new());
        }
        let mut binds = Vec::new();
        for mount in &member.container.mounts {
            let (source, writable) =
                volumes::source(&self.spec.volumes, &mount.volume, &self.layout, &house.allowed)?;
            binds.push(volumes::bind(mount, source, writable).map_err(cannot_start)?);
        }
        for (index, input) in self.spec.inputs.iter().enumerate() {
            let source = self.layout.input(index).join("it");
            if fs::symlink_metadata(&source).is_ok() {
                let target = normal(&input.path).map_err(cannot_start)?;
                binds.push(Bind { source, target, read_only: false });
            }
        }
        if self.sees_own(member, house) {
            return Ok(binds);
        }
        // Last, as a volume may be shown as `/tmp`.
        let own = |source, target: &str| Bind { source, target: target.into(), read_only: true };
        binds.push(own(self.layout.own(), OWN));
        if !matches!(member.image.kind, Kind::Folder(_)) {
            binds.push(own(house.data_dir.join("bin"), OWN_BIN));
            binds.push(own(house.exe.clone(), OWN_EXE));
        }
        Ok(binds)
    }

    fn isolation(&self, member: &Member) -> io::Result<Isolation> {
        let tmp = self.layout.tmp();
        Ok(match self.level {
            Level::None => Isolation::None,
            Level::PrivateTmp => Isolation::PrivateTmp { tmp },
            Level::PrivateRoot => {
                let part = |name| {
                    let path = self.layout.root_part(member.index, name);
                    make_folder(&path).map(|()| path)
                };
                let upper = part("upper")?;
                // The root of the job, whoever it becomes.
                fs::set_permissions(&upper, fs::Permissions::from_mode(0o755))?;
                let lower = lower(member);
                Isolation::PrivateRoot {
                    lower,
                    upper,
                    work: part("work")?,
                    merged: part("merged")?,
                    tmp,
                }
            }
        })
    }

    /// What a process saw.
    ///
    /// # Errors
    /// The system's.
    pub fn view(&self, member: &Member, house: &House) -> io::Result<View> {
        let mut view = View::default();
        let (root, tmp) = (Path::new(""), self.layout.tmp());
        let (lower, upper) = (lower(member), self.layout.root_part(member.index, "upper"));
        match self.level {
            Level::PrivateRoot => view.mount(Path::new("/"), [&*upper, &*lower], root)?,
            _ => view.mount(Path::new("/"), [&*lower], root)?,
        }
        if self.level > Level::None {
            // That of the process went with it; that of the machine has our own secrets.
            view.hide(Path::new("/proc"));
            view.mount(Path::new("/tmp"), [&*tmp], root)?;
            view.mount(Path::new("/var/tmp"), [&*tmp], root)?;
            // Where our part was shown; not empty if the process has used the name for its own.
            let _ = fs::remove_dir(tmp.join(".argosy"));
        }
        let own = |bind: &Bind| !bind.target.starts_with(OWN);
        let binds = self.binds(member, house).map_err(|why| io::Error::other(why.what))?;
        for bind in binds.into_iter().filter(own) {
            let (folder, base) = match (bind.source.is_dir(), bind.source.parent()) {
                (false, Some(parent)) => (parent, bind.source.file_name().unwrap_or_default()),
                _ => (&*bind.source, Default::default()),
            };
            view.mount(&bind.target, [folder], Path::new(base))?;
        }
        Ok(view)
    }
}

fn lower(member: &Member) -> PathBuf {
    match &member.image.kind {
        Kind::Folder(folder) => folder.clone(),
        Kind::Builtin | Kind::Host => "/".into(),
    }
}
