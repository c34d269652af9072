//! Writing. A commit is one script, from `BEGIN` to `COMMIT`: each way to the thread of the
//! database and back costs more than a statement.

use argosy_model::{Keep, RunId};
use sqlx::{QueryBuilder, Sqlite};

use crate::commit::{Archived, Commit, Garbage, Memo, ObjectChange, Snapshot};
use crate::encode::encode;
use crate::error::{Error, Result};
use crate::open::{Store, Writer};
use crate::row::RunRow;

/// Rows in one statement, below the databases' bounds on bound values.
const ROWS: usize = 500;

/// Statements with their values, in order.
type Script = QueryBuilder<Sqlite>;

impl Store {
    /// Writes a commit and syncs it. Returns its number.
    ///
    /// # Errors
    /// Whatever the database says; nothing of the commit is then written.
    pub async fn commit(&self, commit: &Commit) -> Result<u64> {
        let writer = self.writer.as_ref().ok_or(Error::Busy("opened for reading".to_owned()))?;
        let mut writer = writer.lock().await;
        self.is_in_place()?;
        let committed = write(&mut writer, commit).await;
        if committed.is_err() {
            // A script that ended early has left its transaction open. It goes with the connection.
            writer.connection = self.connect().await?;
        }
        committed
    }
}

async fn write(writer: &mut Writer, commit: &Commit) -> Result<u64> {
    let seq = writer.seq + 1;
    script(commit, seq)?.build().execute(&mut writer.connection).await?;
    writer.seq = seq;
    Ok(seq)
}

fn script(commit: &Commit, seq: u64) -> Result<Script> {
    // A statement alone is a transaction by itself.
    let alone = commit.is_record_alone();
    let mut script = Script::new(if alone { "" } else { "BEGIN IMMEDIATE; " });
    if !commit.record.turns.is_empty() {
        script.push("INSERT INTO log (seq, at_ms, record) VALUES (");
        let mut values = script.separated(", ");
        values.push_bind(seq.cast_signed()).push_bind(commit.at_ms);
        values.push_bind(encode(&commit.record)?);
        script.push("); ");
    }
    put_rows(&mut script, &commit.rows)?;
    commit.snapshots.iter().for_each(|snapshot| put_snapshot(&mut script, snapshot, seq));
    commit.archived.iter().for_each(|archived| put_archived(&mut script, archived));
    commit.deleted.iter().for_each(|run| delete_run(&mut script, *run));
    commit.objects.iter().for_each(|change| put_object(&mut script, change, commit.at_ms));
    for memo in &commit.memos {
        put_memo(&mut script, memo, commit.at_ms)?;
    }
    commit.collected.iter().for_each(|garbage| forget(&mut script, garbage));
    if let Some(cut) = commit.cut {
        cut_log(&mut script, cut, seq);
    }
    if !alone {
        script.push("COMMIT");
    }
    Ok(script)
}

fn put_rows(script: &mut Script, rows: &[RunRow]) -> Result<()> {
    for rows in rows.chunks(ROWS) {
        let labels = rows
            .iter()
            .map(|row| {
                serde_json::to_string(&row.labels).map_err(|e| Error::Damaged(e.to_string()))
            })
            .collect::<Result<Vec<_>>>()?;
        script.push(
            "INSERT INTO runs (id, space, name, uid, door, phase, message, priority, accepted_ms,
             ended_ms, expires_ms, suspended, labels, steps, done, snapshot_seq, archived) ",
        );
        script.push_values(rows.iter().zip(labels), |mut to, (row, labels)| {
            to.push_bind(row.id.0.cast_signed())
                .push_bind(&row.space)
                .push_bind(&row.name)
                .push_bind(&row.uid)
                .push_bind(&row.door)
                .push_bind(row.phase.as_str())
                .push_bind(&row.message)
                .push_bind(i64::from(row.priority))
                .push_bind(row.accepted_ms)
                .push_bind(row.ended_ms)
                .push_bind(row.expires_ms)
                .push_bind(i64::from(row.suspended))
                .push_bind(labels)
                .push_bind(row.steps.cast_signed())
                .push_bind(row.done.cast_signed())
                .push_bind(0_i64)
                .push_bind(0_i64);
        });
        script.push(
            " ON CONFLICT (id) DO UPDATE SET phase = excluded.phase, message = excluded.message,
             ended_ms = excluded.ended_ms, expires_ms = excluded.expires_ms,
             suspended = excluded.suspended, labels = excluded.labels, steps = excluded.steps,
             done = excluded.done; ",
        );
    }
    Ok(())
}

fn put_snapshot(script: &mut Script, snapshot: &Snapshot, seq: u64) {
    let run = snapshot.run.0.cast_signed();
    for parts in snapshot.parts.chunks(ROWS) {
        script.push("INSERT INTO parts (run, part, data) ");
        script.push_values(parts, |mut to, part| {
            to.push_bind(run).push_bind(&part.name).push_bind(&part.data);
        });
        script.push(" ON CONFLICT (run, part) DO UPDATE SET data = excluded.data; ");
    }
    script.push("UPDATE runs SET snapshot_seq = ").push_bind(seq.cast_signed());
    script.push(" WHERE id = ").push_bind(run).push("; ");
}

fn put_archived(script: &mut Script, archived: &Archived) {
    let run = archived.run.0.cast_signed();
    script.push("INSERT INTO archive (run, data) VALUES (");
    script.separated(", ").push_bind(run).push_bind(&archived.data);
    script.push(") ON CONFLICT (run) DO UPDATE SET data = excluded.data; ");
    script.push("DELETE FROM parts WHERE run = ").push_bind(run).push("; ");
    script.push("UPDATE runs SET archived = 1 WHERE id = ").push_bind(run).push("; ");
    for garbage in archived.garbage.chunks(ROWS) {
        script.push("INSERT INTO garbage (run, object, space, due) ");
        script.push_values(garbage, |mut to, (garbage, keep)| {
            to.push_bind(run).push_bind(&garbage.key).push_bind(&garbage.space);
            to.push_bind(i64::from(*keep == Keep::UntilEnd));
        });
        script.push(" ON CONFLICT (run, object) DO NOTHING; ");
    }
}

/// With a run goes what was kept for as long as the run is there.
fn delete_run(script: &mut Script, run: RunId) {
    script.push("UPDATE garbage SET due = 1 WHERE run = ").push_bind(run.0.cast_signed());
    script.push("; ");
    for rows in ["archive WHERE run", "parts WHERE run", "runs WHERE id"] {
        script.push("DELETE FROM ").push(rows).push(" = ").push_bind(run.0.cast_signed());
        script.push("; ");
    }
    // No number is ever given again: the log, and what others keep of the run, go later.
    script.push("INSERT INTO meta (name, value) VALUES ('last_run', ").push_bind(run.0.to_string());
    script.push(
        ") ON CONFLICT (name) DO UPDATE SET value = excluded.value
         WHERE CAST(excluded.value AS BIGINT) > CAST(meta.value AS BIGINT); ",
    );
}

fn put_object(script: &mut Script, change: &ObjectChange, at_ms: i64) {
    let ObjectChange { space, kind, name, data } = change;
    let Some(data) = data else {
        script.push("DELETE FROM objects WHERE space = ").push_bind(space);
        script.push(" AND kind = ").push_bind(kind).push(" AND name = ").push_bind(name).push("; ");
        return;
    };
    script.push("INSERT INTO objects (space, kind, name, version, created_ms, data) VALUES (");
    let mut values = script.separated(", ");
    values.push_bind(space).push_bind(kind).push_bind(name);
    values.push_bind(1_i64).push_bind(at_ms).push_bind(data);
    script.push(
        ") ON CONFLICT (space, kind, name)
         DO UPDATE SET version = objects.version + 1, data = excluded.data; ",
    );
}

fn put_memo(script: &mut Script, memo: &Memo, at_ms: i64) -> Result<()> {
    let outputs = encode(&memo.outputs)?;
    script.push("INSERT INTO memos (space, cache, name, created_ms, data) VALUES (");
    let mut values = script.separated(", ");
    values.push_bind(&memo.space).push_bind(&memo.cache).push_bind(&memo.name);
    values.push_bind(at_ms).push_bind(outputs);
    script.push(
        ") ON CONFLICT (space, cache, name)
         DO UPDATE SET created_ms = excluded.created_ms, data = excluded.data; ",
    );
    Ok(())
}

/// What was deleted is no garbage any more.
fn forget(script: &mut Script, garbage: &Garbage) {
    script.push("DELETE FROM garbage WHERE run = ").push_bind(garbage.run.0.cast_signed());
    script.push(" AND object = ").push_bind(&garbage.key).push("; ");
}

fn cut_log(script: &mut Script, cut: u64, seq: u64) {
    script.push("DELETE FROM log WHERE seq <= ").push_bind(cut.cast_signed()).push("; ");
    script.push("INSERT INTO meta (name, value) VALUES ('cut', ").push_bind(seq.to_string());
    script.push(") ON CONFLICT (name) DO UPDATE SET value = excluded.value; ");
}
