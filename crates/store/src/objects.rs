//! Named objects that runs refer to.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::error::Result;
use crate::open::Store;

/// A stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its owner.
    pub space: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How often it was put.
    pub version: u64,
    /// Unix ms of its first put.
    pub created_ms: i64,
    /// What it holds.
    pub data: Vec<u8>,
}

impl Object {
    fn read(row: &SqliteRow) -> Result<Object> {
        Ok(Object {
            space: row.try_get("space")?,
            kind: row.try_get("kind")?,
            name: row.try_get("name")?,
            version: row.try_get::<i64, _>("version")?.cast_unsigned(),
            created_ms: row.try_get("created_ms")?,
            data: row.try_get("data")?,
        })
    }
}

impl Store {
    /// The objects of a kind, by name. Objects without an owner have the space `""`.
    ///
    /// # Errors
    /// Whatever the database says.
    pub async fn objects(&self, space: &str, kind: &str) -> Result<Vec<Object>> {
        let rows =
            sqlx::query("SELECT * FROM objects WHERE space = $1 AND kind = $2 ORDER BY name")
                .bind(space)
                .bind(kind)
                .fetch_all(&self.readers)
                .await?;
        rows.iter().map(Object::read).collect()
    }

    /// One object.
    ///
    /// # Errors
    /// Whatever the database says.
    pub async fn object(&self, space: &str, kind: &str, name: &str) -> Result<Option<Object>> {
        let row = sqlx::query("SELECT * FROM objects WHERE space = $1 AND kind = $2 AND name = $3")
            .bind(space)
            .bind(kind)
            .bind(name)
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(Object::read).transpose()
    }
}
