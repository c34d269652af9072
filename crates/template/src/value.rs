//! Values inside an expression.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::ZonedDateTime;
use jiff::tz::TimeZone;

use crate::env::{MAX_DEPTH, MAX_WEIGHT};
use crate::error::Fault;
use crate::go;

/// A value that an expression computes with. Clones are cheap.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    List(Arc<List>),
    Map(Arc<Map>),
    Time(Arc<ZonedDateTime>),
    /// Nanoseconds.
    Duration(i64),
    Zone(TimeZone),
}

/// A list that knows its extent, so that no walk over it can take too long or too deep a stack.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) items: Vec<Value>,
    extent: Extent,
}

/// A map that knows its extent. Keys are in order, as Go prints them.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) entries: BTreeMap<Arc<str>, Value>,
    extent: Extent,
}

/// How large a value is, shared parts counted as often as they occur.
#[derive(Debug, Clone, Copy)]
struct Extent {
    depth: usize,
    weight: usize,
}

impl Extent {
    /// The extent of a group of `children`.
    ///
    /// # Errors
    /// If it would be over [`MAX_DEPTH`] or [`MAX_WEIGHT`].
    fn around<'a>(children: impl Iterator<Item = &'a Value>) -> Result<Self, Fault> {
        let mut extent = Self { depth: 0, weight: 1 };
        for child in children {
            let child = child.extent();
            extent.depth = extent.depth.max(child.depth);
            extent.weight = extent.weight.saturating_add(child.weight);
        }
        extent.depth += 1;
        if extent.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if extent.weight > MAX_WEIGHT {
            return Err("a value is too large".into());
        }
        Ok(extent)
    }
}

impl Value {
    pub(crate) fn str(text: impl AsRef<str>) -> Self {
        Self::Str(Arc::from(text.as_ref()))
    }

    /// A list of `items`.
    ///
    /// # Errors
    /// If the list would be over [`MAX_DEPTH`] or [`MAX_WEIGHT`].
    pub(crate) fn list(items: Vec<Self>) -> Result<Self, Fault> {
        let extent = Extent::around(items.iter())?;
        Ok(Self::List(Arc::new(List { items, extent })))
    }

    /// A list of texts.
    ///
    /// # Errors
    /// If it would be over [`MAX_WEIGHT`].
    pub(crate) fn texts<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> Result<Self, Fault> {
        Self::list(items.into_iter().map(Self::str).collect())
    }

    /// A map of `entries`.
    ///
    /// # Errors
    /// If the map would be over [`MAX_DEPTH`] or [`MAX_WEIGHT`].
    pub(crate) fn map(entries: BTreeMap<Arc<str>, Self>) -> Result<Self, Fault> {
        let extent = Extent::around(entries.values())?;
        Ok(Self::Map(Arc::new(Map { entries, extent })))
    }

    fn extent(&self) -> Extent {
        match self {
            Self::List(list) => list.extent,
            Self::Map(map) => map.extent,
            Self::Str(text) => Extent { depth: 0, weight: 1 + text.len() / 16 },
            _ => Extent { depth: 0, weight: 1 },
        }
    }

    /// The work of looking at all of the value: its members on all levels.
    pub(crate) fn weight(&self) -> usize {
        self.extent().weight
    }

    /// The name of the type, as `type()` gives it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "string",
            Self::List(_) => "array",
            Self::Map(_) => "map",
            Self::Time(_) => "time.Time",
            Self::Duration(_) => "time.Duration",
            Self::Zone(_) => "time.Location",
        }
    }

    /// The number as a float, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "Go converts in the same way")]
            Self::Int(int) => Some(*int as f64),
            Self::Float(float) => Some(*float),
            _ => None,
        }
    }

    /// The value of a JSON document. Numbers without fraction or exponent are integers.
    ///
    /// # Errors
    /// If the document nests deeper than [`MAX_DEPTH`].
    pub(crate) fn from_json(json: &serde_json::Value) -> Result<Self, Fault> {
        Self::from_json_at(json, 0)
    }

    fn from_json_at(json: &serde_json::Value, depth: usize) -> Result<Self, Fault> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        match json {
            serde_json::Value::Null => Ok(Self::Nil),
            serde_json::Value::Bool(bool) => Ok(Self::Bool(*bool)),
            serde_json::Value::Number(number) => Ok(number
                .as_i64()
                .map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Int)),
            serde_json::Value::String(text) => Ok(Self::str(text)),
            serde_json::Value::Array(items) => {
                let items = items.iter().map(|item| Self::from_json_at(item, depth + 1));
                Self::list(items.collect::<Result<_, _>>()?)
            }
            serde_json::Value::Object(entries) => {
                let entry = |(key, value): (&String, _)| {
                    Ok((Arc::from(key.as_str()), Self::from_json_at(value, depth + 1)?))
                };
                Self::map(entries.iter().map(entry).collect::<Result<_, Fault>>()?)
            }
        }
    }

    /// The value as a JSON document: times in RFC 3339, durations in nanoseconds, as Go does.
    ///
    /// # Errors
    /// If a number is infinite or not a number.
    pub(crate) fn to_json(&self) -> Result<serde_json::Value, Fault> {
        Ok(match self {
            Self::Nil => serde_json::Value::Null,
            Self::Bool(bool) => (*bool).into(),
            Self::Int(int) => (*int).into(),
            Self::Duration(nanos) => (*nanos).into(),
            Self::Float(float) => serde_json::Number::from_f64(*float)
                .ok_or_else(|| format!("{} has no JSON form", go::float(*float)))?
                .into(),
            Self::Str(text) => text.as_ref().into(),
            Self::List(list) => {
                list.items.iter().map(Self::to_json).collect::<Result<Vec<_>, _>>()?.into()
            }
            Self::Map(map) => {
                let entry =
                    |(key, value): (&Arc<str>, &Self)| Ok((key.to_string(), value.to_json()?));
                serde_json::Value::Object(
                    map.entries.iter().map(entry).collect::<Result<_, Fault>>()?,
                )
            }
            Self::Time(_) | Self::Zone(_) => self.to_string().into(),
        })
    }
}

fn too_deep() -> Fault {
    Fault::Message(format!("a value nests deeper than {MAX_DEPTH} levels"))
}

/// The value as Go's `%v` prints it, except that a time is in RFC 3339.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nil => f.write_str("<nil>"),
            Self::Bool(bool) => bool.fmt(f),
            Self::Int(int) => int.fmt(f),
            Self::Float(float) => f.write_str(&go::float(*float)),
            Self::Str(text) => f.write_str(text),
            Self::List(list) => {
                f.write_str("[")?;
                for (index, item) in list.items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { " " })?;
                }
                f.write_str("]")
            }
            Self::Map(map) => {
                f.write_str("map[")?;
                for (index, (key, value)) in map.entries.iter().enumerate() {
                    write!(f, "{}{key}:{value}", if index == 0 { "" } else { " " })?;
                }
                f.write_str("]")
            }
            Self::Time(time) => f.write_str(&go::time::format(go::time::RFC3339_NANO, time)),
            Self::Duration(nanos) => f.write_str(&go::duration::format(*nanos)),
            Self::Zone(zone) => f.write_str(zone.iana_name().unwrap_or("UTC")),
        }
    }
}
