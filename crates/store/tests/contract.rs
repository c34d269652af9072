//! What every store must do, whatever it is made of.

use std::path::Path;
use std::sync::Arc;

use argosy_engine::{Input, Run, decide, submit};
use argosy_model::attempt::{End, Exit};
use argosy_model::run::Plan;
use argosy_model::{
    Archive, Artifact, FORMAT_VERSION, Location, Outputs, Record, RunId, RunPhase, RunSpec,
    StepKey, Turn,
};
use argosy_store::{
    Archived, Commit, Error, Garbage, ListFilter, Memo, ObjectChange, Piece, RunRow, Snapshot,
    Store,
};
use serde_json::{Value, json};

fn spec(name: &str) -> RunSpec {
    RunSpec {
        space: "default".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        door: "test".into(),
        labels: vec![("team".into(), "a".into())],
        priority: 3,
        plan: Plan::Task(Box::default()),
        source: json!({"metadata": {"name": name}}),
    }
}

/// A loop over many items: a run of several pages.
fn wide(name: &str, items: usize) -> RunSpec {
    let items: Vec<Value> = (0..items).map(|item| json!(item.to_string())).collect();
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[
            {"name": "each", "target": {"Template": 1}, "each": {"Items": items}}]]}},
        {"name": "leaf", "body": {"Process": {}}}]});
    let plan = Plan::Graph(Box::new(serde_json::from_value(graph).unwrap()));
    RunSpec { plan, ..spec(name) }
}

/// A run with the turns that made it.
struct Made {
    run: Run,
    turns: Vec<Turn>,
}

impl Made {
    fn new(id: u64, spec: RunSpec) -> Made {
        let (run, decision) = submit(RunId(id), spec, 1_000);
        let turns =
            vec![Turn { run: RunId(id), at_ms: 1_000, cause: None, events: decision.events }];
        let mut made = Made { run, turns };
        // Long loops go on turn by turn.
        for _ in 0..10 {
            made.input(Input::Wake);
        }
        made
    }

    fn input(&mut self, input: Input) {
        let events = decide(&mut self.run, input, 2_000).events;
        if !events.is_empty() {
            self.turns.push(Turn { run: self.run.id, at_ms: 2_000, cause: None, events });
        }
    }

    fn finish(&mut self, step: u32) {
        let attempt = self.run.current_attempt(StepKey(step)).unwrap().0;
        self.input(Input::Placed { attempt, machine: 0 });
        self.input(Input::Ended { attempt, end: Box::new(End::bare(Exit::Code(0))) });
    }

    fn commit(&mut self) -> Commit {
        Commit {
            at_ms: 1_000,
            record: Record { turns: std::mem::take(&mut self.turns) },
            rows: vec![RunRow::of(&self.run)],
            ..Commit::default()
        }
    }

    fn snapshot(&self, pages: &[usize]) -> Snapshot {
        let mut pieces =
            vec![Piece::Head(Box::new(self.run.head())), Piece::Spec(Arc::clone(&self.run.spec))];
        pieces.extend(pages.iter().map(|page| Piece::Page(*page, self.run.page(*page))));
        let items = self.run.items.iter();
        pieces.extend(items.map(|(step, items)| Piece::Items(*step, Arc::clone(items))));
        let parts = pieces.iter().map(|piece| piece.encode().unwrap()).collect();
        Snapshot { run: self.run.id, parts }
    }
}

async fn open(dir: &Path) -> Store {
    Store::open(dir).await.unwrap()
}

fn same(found: &Run, made: &Run) {
    assert_eq!(found.head(), made.head());
    assert_eq!(found.steps, made.steps);
    assert_eq!(found.items, made.items);
    assert_eq!(found.spec, made.spec);
}

#[tokio::test]
async fn a_run_is_loaded_from_the_log_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Made::new(1, spec("a"));
    let store = open(dir.path()).await;
    store.commit(&made.commit()).await.unwrap();
    made.finish(0);
    store.commit(&made.commit()).await.unwrap();
    drop(store);
    let loaded = open(dir.path()).await.load(5_000).await.unwrap();
    assert_eq!((loaded.runs.len(), loaded.last_run, loaded.seq), (1, 1, 2));
    same(&loaded.runs[0].run, &made.run);
}

#[tokio::test]
async fn a_snapshot_and_what_came_after_it_are_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Made::new(1, wide("w", 2_500));
    assert_eq!(made.run.steps.len(), 2_503);
    let store = open(dir.path()).await;
    let mut commit = made.commit();
    commit.snapshots.push(made.snapshot(&[0, 1, 2]));
    let seq = store.commit(&commit).await.unwrap();
    // Only the page of what changes is written again.
    made.finish(3);
    let mut commit = made.commit();
    commit.snapshots.push(made.snapshot(&[0]));
    store.commit(&commit).await.unwrap();
    made.finish(2_400);
    let mut commit = made.commit();
    commit.cut = Some(seq + 1);
    store.commit(&commit).await.unwrap();
    let loaded = store.load(5_000).await.unwrap();
    same(&loaded.runs[0].run, &made.run);
    assert_eq!(loaded.runs[0].snapshot_seq, seq + 1);
    assert!(loaded.runs[0].events_since > 0);
    same(&store.run(RunId(1), 5_000).await.unwrap().unwrap(), &made.run);
}

#[tokio::test]
async fn a_loaded_run_goes_on_as_if_it_had_not_been_lost() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Made::new(1, wide("w", 3));
    let store = open(dir.path()).await;
    made.finish(3);
    store.commit(&made.commit()).await.unwrap();
    let mut loaded =
        Made { run: store.load(0).await.unwrap().runs.remove(0).run, turns: Vec::new() };
    for step in [4, 5] {
        made.finish(step);
        loaded.finish(step);
    }
    assert_eq!(loaded.run.phase, RunPhase::Succeeded);
    same(&loaded.run, &made.run);
}

#[tokio::test]
async fn a_finished_run_is_one_archive_record() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Made::new(1, wide("w", 2));
    let store = open(dir.path()).await;
    store.commit(&made.commit()).await.unwrap();
    made.finish(3);
    made.finish(4);
    let mut commit = made.commit();
    commit.archived.push(Archived::of(&made.run).unwrap());
    let seq = store.commit(&commit).await.unwrap();
    store.commit(&Commit { cut: Some(seq), ..Commit::default() }).await.unwrap();
    assert!(store.load(0).await.unwrap().runs.is_empty());
    same(&store.run(RunId(1), 0).await.unwrap().unwrap(), &made.run);
    let row = store.find("default", "w").await.unwrap().unwrap();
    assert_eq!((row.phase, row.archived), (RunPhase::Succeeded, true));
}

#[tokio::test]
async fn artifacts_become_due_with_the_archive_record_or_the_deletion() {
    let dir = tempfile::tempdir().unwrap();
    let graph = json!({"templates": [{"name": "main", "body": {"Process": {}}, "outputs": {
        "artifacts": [{"name": "a", "keep": "UntilEnd"}, {"name": "b", "keep": "UntilDeletion"},
            {"name": "c"}]}}]});
    let plan = Plan::Graph(Box::new(serde_json::from_value(graph).unwrap()));
    let mut made = Made::new(1, RunSpec { plan, ..spec("g") });
    let store = open(dir.path()).await;
    store.commit(&made.commit()).await.unwrap();
    let kept = ["a", "b", "c"].map(|name| {
        let at = Location::Blob { key: format!("k/{name}") };
        (name.into(), Artifact { at, archive: Archive::Default, sub_path: String::new() })
    });
    let outputs = Outputs { artifacts: kept.into(), ..Outputs::default() };
    let attempt = made.run.current_attempt(StepKey(0)).unwrap().0;
    made.input(Input::Placed { attempt, machine: 0 });
    let end = Box::new(End { outputs, ..End::bare(Exit::Code(0)) });
    made.input(Input::Ended { attempt, end });
    store.commit(&made.commit()).await.unwrap();
    assert_eq!(store.garbage(None, 9).await.unwrap(), [], "the run is not archived yet");
    let archived = vec![Archived::of(&made.run).unwrap()];
    store.commit(&Commit { archived, ..Commit::default() }).await.unwrap();
    let garbage = |key: &str| Garbage { run: RunId(1), key: key.into(), space: "default".into() };
    assert_eq!(store.garbage(None, 9).await.unwrap(), [garbage("k/a")]);
    let collected = async || store.run(RunId(1), 0).await.unwrap().unwrap().collected;
    assert!(collected().await.is_empty(), "it is still there");
    let gone = Commit { collected: vec![garbage("k/a")], ..Commit::default() };
    store.commit(&gone).await.unwrap();
    assert_eq!(store.garbage(None, 9).await.unwrap(), []);
    assert_eq!(collected().await, ["k/a".to_owned()].into());
    store.commit(&Commit { deleted: vec![RunId(1)], ..Commit::default() }).await.unwrap();
    assert_eq!(store.garbage(None, 9).await.unwrap(), [garbage("k/b")]);
    assert_eq!(store.garbage(Some(&garbage("k/b")), 9).await.unwrap(), []);
}

#[tokio::test]
async fn numbers_of_commits_rise_although_the_log_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Made::new(1, spec("a"));
    let store = open(dir.path()).await;
    store.commit(&made.commit()).await.unwrap();
    let cut = store.commit(&Commit { cut: Some(1), ..Commit::default() }).await.unwrap();
    drop(store);
    let store = open(dir.path()).await;
    assert!(store.commit(&Commit::default()).await.unwrap() > cut);
}

#[tokio::test]
async fn the_number_of_a_deleted_run_is_not_given_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=3 {
        store.commit(&Made::new(number, spec(&format!("r{number}"))).commit()).await.unwrap();
    }
    // The newest first, so that the second is not what is remembered.
    for number in [3, 2] {
        let deleted = vec![RunId(number)];
        store.commit(&Commit { deleted, ..Commit::default() }).await.unwrap();
    }
    drop(store);
    let store = open(dir.path()).await;
    assert_eq!(store.load(0).await.unwrap().last_run, 3);
    store.commit(&Commit { cut: Some(5), ..Commit::default() }).await.unwrap();
    assert_eq!(store.load(0).await.unwrap().last_run, 3, "the log has nothing of it");
}

#[tokio::test]
async fn a_refused_commit_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.commit(&Made::new(1, spec("same")).commit()).await.unwrap();
    // The name is unique in a space: the second row is refused, and its turns with it.
    let refused = store.commit(&Made::new(2, spec("same")).commit()).await;
    assert!(matches!(refused, Err(Error::Database(_))));
    let loaded = store.load(0).await.unwrap();
    assert_eq!((loaded.runs.len(), loaded.last_run), (1, 1));
    store.commit(&Made::new(2, spec("other")).commit()).await.unwrap();
    assert_eq!(store.load(0).await.unwrap().runs.len(), 2);
}

#[tokio::test]
async fn nothing_is_written_into_a_database_that_is_not_there_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let store = open(&data).await;
    store.commit(&Made::new(1, spec("a")).commit()).await.unwrap();
    let moved = dir.path().join("moved");
    std::fs::rename(&data, &moved).unwrap();
    let refused = store.commit(&Made::new(2, spec("b")).commit()).await;
    assert!(matches!(refused, Err(Error::Gone(_))), "{refused:?}");
    // Another one in its place is not its own.
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("argosy.db"), "").unwrap();
    let refused = store.commit(&Made::new(2, spec("b")).commit()).await;
    assert!(matches!(refused, Err(Error::Gone(_))), "{refused:?}");
    std::fs::remove_dir_all(&data).unwrap();
    std::fs::rename(&moved, &data).unwrap();
    store.commit(&Made::new(2, spec("b")).commit()).await.unwrap();
    assert_eq!(store.load(0).await.unwrap().runs.len(), 2);
}

#[tokio::test]
async fn lists_are_filtered_and_paged_newest_first() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for (id, name) in [(1, "a-1"), (2, "b-1"), (3, "a-2")] {
        store.commit(&Made::new(id, spec(name)).commit()).await.unwrap();
    }
    let list = async |filter: ListFilter| {
        let rows = store.list(&ListFilter { limit: filter.limit.max(1), ..filter }).await.unwrap();
        rows.into_iter().map(|row| row.name).collect::<Vec<_>>()
    };
    let all = ListFilter { limit: 10, ..ListFilter::default() };
    assert_eq!(list(all.clone()).await, ["a-2", "b-1", "a-1"]);
    assert_eq!(list(ListFilter { name_prefix: "a-".into(), ..all.clone() }).await, ["a-2", "a-1"]);
    assert_eq!(list(ListFilter { name: Some("a-2".into()), ..all.clone() }).await, ["a-2"]);
    assert_eq!(list(ListFilter { before: Some(RunId(3)), limit: 1, ..all.clone() }).await, ["b-1"]);
    assert_eq!(
        list(ListFilter { space: Some("x".into()), ..all.clone() }).await,
        Vec::<String>::new()
    );
    assert_eq!(
        list(ListFilter { phases: vec!["Failed".into()], ..all }).await,
        Vec::<String>::new()
    );
    let row = store.find("default", "b-1").await.unwrap().unwrap();
    assert_eq!((row.uid.as_str(), row.priority), ("uid-b-1", 3));
    assert_eq!(row.labels, [("team".to_owned(), "a".to_owned())]);
}

#[tokio::test]
async fn objects_and_memos_are_put_found_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let change = |data: Option<&[u8]>| ObjectChange {
        space: "s".into(),
        kind: "ConfigMap".into(),
        name: "m".into(),
        data: data.map(<[u8]>::to_vec),
    };
    for data in [b"one", b"two"] {
        let objects = vec![change(Some(data))];
        store.commit(&Commit { objects, at_ms: 7, ..Commit::default() }).await.unwrap();
    }
    let found = store.objects("s", "ConfigMap").await.unwrap();
    assert_eq!(
        (found[0].data.as_slice(), found[0].version, found[0].created_ms),
        (&b"two"[..], 2, 7)
    );
    assert_eq!(store.object("s", "ConfigMap", "m").await.unwrap(), found.first().cloned());
    for (space, kind, name) in
        [("t", "ConfigMap", "m"), ("s", "Secret", "m"), ("s", "ConfigMap", "n")]
    {
        assert_eq!(store.object(space, kind, name).await.unwrap(), None);
    }
    store.commit(&Commit { objects: vec![change(None)], ..Commit::default() }).await.unwrap();
    assert!(store.object("s", "ConfigMap", "m").await.unwrap().is_none());
    let outputs = argosy_model::Outputs { result: Some("r".into()), ..Default::default() };
    let memos = vec![Memo {
        space: "s".into(),
        cache: "c".into(),
        name: "k".into(),
        outputs: outputs.clone(),
    }];
    store.commit(&Commit { memos, at_ms: 9, ..Commit::default() }).await.unwrap();
    assert_eq!(store.memo("s", "c", "k").await.unwrap(), Some((9, outputs)));
    assert_eq!(store.memo("s", "c", "other").await.unwrap(), None);
}

#[tokio::test]
async fn one_process_writes_and_others_read() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!Store::exists(dir.path()).unwrap() && !Store::is_owned(dir.path()));
    let store = open(dir.path()).await;
    assert!(Store::is_owned(dir.path()));
    assert!(matches!(Store::open(dir.path()).await, Err(Error::Busy(_))));
    store.commit(&Made::new(1, spec("a")).commit()).await.unwrap();
    let reader = Store::read(dir.path()).await.unwrap();
    assert!(reader.find("default", "a").await.unwrap().is_some());
    assert!(reader.commit(&Commit::default()).await.is_err());
    drop(store);
    assert!(!Store::is_owned(dir.path()));
}

#[tokio::test]
async fn what_a_later_version_wrote_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).await);
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.path().join("argosy.db"));
    let mut connection =
        <sqlx::SqliteConnection as sqlx::Connection>::connect_with(&options).await.unwrap();
    let newer = FORMAT_VERSION + 1;
    sqlx::query("UPDATE meta SET value = $1 WHERE name = 'format'")
        .bind(newer.to_string())
        .execute(&mut connection)
        .await
        .unwrap();
    let refused = Store::open(dir.path()).await;
    assert!(matches!(refused, Err(Error::Newer { found, .. }) if found == newer));
    assert!(matches!(Store::read(dir.path()).await, Err(Error::Newer { .. })));
}

#[tokio::test]
async fn a_turn_that_does_not_fit_is_named_as_damage() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut made = Made::new(1, spec("a"));
    let mut commit = made.commit();
    let twice = commit.record.turns[0].clone();
    commit.record.turns.push(Turn { events: twice.events[1..].to_vec(), ..twice });
    let broken = argosy_model::Event::AttemptPlaced { step: StepKey(99), machine: 0 };
    commit.record.turns[1].events.push(broken);
    store.commit(&commit).await.unwrap();
    assert!(matches!(store.load(0).await, Err(Error::Damaged(_))));
}
