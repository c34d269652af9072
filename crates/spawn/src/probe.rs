//! Tells what works on this machine: tries isolation levels by building each once.

use crate::jobs::Jobs;
use crate::message::{Abilities, Ability, Isolation, Limits, Reason, Start};
use crate::notes::Fault;
use crate::root;
use std::fs;
use std::io;
use std::path::Path;

/// What no attempt's id can be, since it has a space.
const ID: &str = "a probe";

/// Builds each level in a scratch directory and says what came of it.
///
/// # Errors
/// The system's, where the spawner cannot go on.
pub fn probe(data_dir: &Path, jobs: &mut Jobs) -> io::Result<Abilities> {
    let scratch = data_dir.join("probe");
    // Left by a spawner that was killed during a probe.
    clear(&scratch);
    let [private_tmp, private_root] = match levels(&scratch) {
        Ok(levels) => levels.map(|level| attempt(level, jobs)),
        Err(error) => [(); 2].map(|()| {
            let message = format!("cannot make {}: {error}", scratch.display());
            Ok(refused(Fault { reason: Reason::Mount, message }))
        }),
    };
    clear(&scratch);
    Ok(Abilities { private_tmp: private_tmp?, private_root: private_root?, memory: memory(jobs) })
}

fn levels(scratch: &Path) -> io::Result<[Isolation; 2]> {
    let made = |name: &str| {
        let path = scratch.join(name);
        fs::create_dir_all(&path).map(|()| path)
    };
    let private_root = Isolation::PrivateRoot {
        lower: "/".into(),
        upper: made("upper")?,
        work: made("work")?,
        merged: made("merged")?,
        tmp: made("tmp")?,
    };
    Ok([Isolation::PrivateTmp { tmp: made("tmp")? }, private_root])
}

/// Removes the scratch directory as far as possible; the next probe tries again.
fn clear(scratch: &Path) {
    root::release(&scratch.join("work"));
    let _ = fs::remove_dir_all(scratch);
}

fn attempt(isolation: Isolation, jobs: &mut Jobs) -> io::Result<Ability> {
    let start = Start {
        id: ID.into(),
        argv: vec![],
        env: vec![],
        cwd: "/".into(),
        stdout: None,
        stderr: None,
        isolation,
        binds: vec![],
        limits: Limits::default(),
    };
    Ok(jobs.rehearse(&start)?.map_or_else(refused, |()| Ability::Works))
}

fn memory(jobs: &Jobs) -> Ability {
    match jobs.groups() {
        Ok(_) => Ability::Works,
        Err(message) => refused(Fault { reason: Reason::Limit, message: message.clone() }),
    }
}

fn refused(Fault { reason, message }: Fault) -> Ability {
    Ability::Refused { reason, message, remedy: remedy(reason).into() }
}

fn remedy(reason: Reason) -> &'static str {
    match reason {
        Reason::Overlay => {
            "Put the data directory on a file system with extended attributes that is not an \
             overlay itself (ext4, xfs, btrfs), on Linux 5.11 or later."
        }
        Reason::Limit => {
            "Run it where control groups are its own: by systemd-run --user --scope, or in a unit \
             with Delegate=yes and DelegateSubgroup=main; in a container make /sys/fs/cgroup \
             writable and start it in a group below."
        }
        Reason::Mount => "Make the data directory writable.",
        _ => {
            "Allow user namespaces: raise sysctl user.max_user_namespaces above 0; on Debian set \
             kernel.unprivileged_userns_clone=1; on Ubuntu set \
             kernel.apparmor_restrict_unprivileged_userns=0 or install an AppArmor profile; in a \
             container allow mount and clone in its seccomp profile and leave /proc unmasked."
        }
    }
}
