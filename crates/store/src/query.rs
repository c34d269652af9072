//! Lists and look-ups.

use argosy_model::{Outputs, RunId};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

use crate::commit::Garbage;
use crate::encode::decode;
use crate::error::Result;
use crate::open::Store;
use crate::row::RunRow;

/// Which runs a list shows.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// Only of this owner.
    pub space: Option<String>,
    /// Only in one of these phases; all when empty.
    pub phases: Vec<String>,
    /// Only the run of this name.
    pub name: Option<String>,
    /// Only names that begin so.
    pub name_prefix: String,
    /// Only runs accepted before this one (paging).
    pub before: Option<RunId>,
    /// At most this many.
    pub limit: u32,
}

impl Store {
    /// Rows of runs, newest first.
    ///
    /// # Errors
    /// Whatever the database says.
    pub async fn list(&self, filter: &ListFilter) -> Result<Vec<RunRow>> {
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new("SELECT * FROM runs WHERE 1 = 1");
        if let Some(space) = &filter.space {
            query.push(" AND space = ").push_bind(space);
        }
        if let Some(before) = filter.before {
            query.push(" AND id < ").push_bind(before.0.cast_signed());
        }
        if let Some(name) = &filter.name {
            query.push(" AND name = ").push_bind(name);
        }
        if !filter.name_prefix.is_empty() {
            let length = filter.name_prefix.chars().count() as i64;
            query.push(" AND SUBSTR(name, 1, ").push_bind(length).push(") = ");
            query.push_bind(&filter.name_prefix);
        }
        if !filter.phases.is_empty() {
            query.push(" AND phase IN (");
            let mut list = query.separated(", ");
            for phase in &filter.phases {
                list.push_bind(phase);
            }
            query.push(")");
        }
        query.push(" ORDER BY id DESC LIMIT ").push_bind(i64::from(filter.limit.max(1)));
        let rows = query.build().fetch_all(&self.readers).await?;
        rows.iter().map(RunRow::read).collect()
    }

    /// The row of a run by name.
    ///
    /// # Errors
    /// Whatever the database says.
    pub async fn find(&self, space: &str, name: &str) -> Result<Option<RunRow>> {
        let row = sqlx::query("SELECT * FROM runs WHERE space = $1 AND name = $2")
            .bind(space)
            .bind(name)
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(RunRow::read).transpose()
    }

    /// Finished runs that are deleted by themselves, with the time (Unix ms) at which they are.
    ///
    /// # Errors
    /// Whatever the database says.
    pub async fn expiring(&self) -> Result<Vec<(i64, RunId)>> {
        let rows = sqlx::query("SELECT id, expires_ms FROM runs WHERE expires_ms > 0")
            .fetch_all(&self.readers)
            .await?;
        rows.iter()
            .map(|row| {
                let id = row.try_get::<i64, _>("id")?.cast_unsigned();
                Ok((row.try_get("expires_ms")?, RunId(id)))
            })
            .collect()
    }

    /// Artifacts that are to be deleted now, those that come after this one, at most `limit`.
    ///
    /// # Errors
    /// Whatever the database says.
    pub async fn garbage(&self, after: Option<&Garbage>, limit: u32) -> Result<Vec<Garbage>> {
        let (run, key) = after.map_or((0, ""), |last| (last.run.0.cast_signed(), &*last.key));
        let rows = sqlx::query(
            "SELECT run, object, space FROM garbage
             WHERE due = 1 AND (run > $1 OR (run = $1 AND object > $2))
             ORDER BY run, object LIMIT $3",
        )
        .bind(run)
        .bind(key)
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        let garbage = |row: &SqliteRow| {
            let run = RunId(row.try_get::<i64, _>("run")?.cast_unsigned());
            Ok(Garbage { run, key: row.try_get("object")?, space: row.try_get("space")? })
        };
        rows.iter().map(garbage).collect()
    }

    /// Outputs kept for later steps, with the time at which they were.
    ///
    /// # Errors
    /// Whatever the database says.
    pub async fn memo(
        &self,
        space: &str,
        cache: &str,
        name: &str,
    ) -> Result<Option<(i64, Outputs)>> {
        let row = sqlx::query(
            "SELECT created_ms, data FROM memos WHERE space = $1 AND cache = $2 AND name = $3",
        )
        .bind(space)
        .bind(cache)
        .bind(name)
        .fetch_optional(&self.readers)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let outputs = decode(&row.try_get::<Vec<u8>, _>("data")?, "memo")?;
        Ok(Some((row.try_get("created_ms")?, outputs)))
    }
}
