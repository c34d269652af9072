//! Events of the YAML parser become trees.

use std::collections::HashMap;

use argosy_model::{Code, limits};
use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};

use super::node::{Entry, Mark, Node, Value};
use super::{Entries, Refusal, refuse, scalar};

/// Reads all documents of a YAML text.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, Refusal> {
    let mut builder = Builder::default();
    // As libyaml reads, of which Go's reader is a port.
    let options = granit_parser::options! { block_scalar_eof_without_line_feed: true };
    let mut parser = Parser::new_from_str_with_options(text, options);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| not_yaml(&error))?;
        builder.on_event(event, mark_of(span.start))?;
    }
    Ok(builder.documents)
}

fn mark_of(marker: Marker) -> Mark {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Mark { line: number(marker.line()), column: number(marker.col()).saturating_add(1), file: 0 }
}

fn not_yaml(error: &ScanError) -> Refusal {
    let what = error.kind().to_string();
    if what.contains("recursion limit") {
        // The parser's own bound, which is above ours.
        return refuse(Code::TooLarge, mark_of(*error.marker()), super::too_deep());
    }
    let is_tab = what.contains("tab");
    let mut refusal = refuse(Code::NotYaml, mark_of(*error.marker()), what);
    if is_tab {
        refusal.diagnostic.help = "indent with spaces".into();
    }
    refusal
}

/// A list or map that is not closed yet.
struct Open {
    mark: Mark,
    anchor: usize,
    /// Levels of its deepest member.
    depth: u64,
    /// Nodes in it.
    nodes: u64,
    parts: Parts,
}

enum Parts {
    List(Vec<Node>),
    Map { entries: Entries, merged: Vec<Node>, key: Option<Key> },
}

enum Key {
    Named(Mark, std::sync::Arc<str>),
    /// `<<`: what follows is merged into the map.
    Merge,
}

/// A node with its size.
#[derive(Clone)]
struct Sized {
    node: Node,
    depth: u64,
    nodes: u64,
}

#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Sized>,
    nodes: u64,
    kept: u64,
}

impl Builder {
    fn on_event(&mut self, event: Event<'_>, mark: Mark) -> Result<(), Refusal> {
        match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, mark),
            Event::Scalar(text, style, anchor, tag) => {
                self.count(mark, 1)?;
                if self.wants_merge_key(&text, style) {
                    return self.merge_key();
                }
                let value = value_of(&text, style, tag.as_deref(), mark)?;
                let sized = Sized { node: Node { mark, value }, depth: 1, nodes: 1 };
                self.keep(anchor, &sized)?;
                self.add(sized)
            }
            Event::SequenceStart(_, anchor, _) => self.start(mark, anchor, Parts::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                let entries = Entries::default();
                self.start(mark, anchor, Parts::Map { entries, merged: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            _ => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize, mark: Mark) -> Result<(), Refusal> {
        let Some(nodes) = self.anchors.get(&anchor).map(|found| found.nodes) else {
            return Err(refuse(Code::NotYaml, mark, "the alias stands inside of what it names"));
        };
        // The size is checked before the copy is made.
        self.count(mark, nodes)?;
        let Some(mut copy) = self.anchors.get(&anchor).cloned() else { return Ok(()) };
        copy.node.mark = mark;
        self.add(copy)
    }

    fn count(&mut self, mark: Mark, nodes: u64) -> Result<(), Refusal> {
        self.nodes = self.nodes.saturating_add(nodes);
        let checked = limits::YAML_NODES.check(self.nodes, "file");
        checked.map_err(|diagnostic| Refusal { mark, diagnostic })
    }

    fn check_depth(&self, mark: Mark, depth: u64) -> Result<(), Refusal> {
        let checked = limits::YAML_DEPTH.check(self.open.len() as u64 + depth, "file");
        checked.map_err(|diagnostic| Refusal { mark, diagnostic })
    }

    fn start(&mut self, mark: Mark, anchor: usize, parts: Parts) -> Result<(), Refusal> {
        self.count(mark, 1)?;
        self.check_depth(mark, 1)?;
        self.open.push(Open { mark, anchor, depth: 0, nodes: 1, parts });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Refusal> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.parts {
            Parts::List(items) => Value::List(items),
            Parts::Map { mut entries, merged, .. } => {
                merged.into_iter().for_each(|node| entries.merge(node));
                Value::Map(entries.list)
            }
        };
        let node = Node { mark: open.mark, value };
        let sized = Sized { node, depth: open.depth + 1, nodes: open.nodes };
        self.keep(open.anchor, &sized)?;
        self.add(sized)
    }

    /// Keeps a copy of what an anchor names. All copies together are bounded, too, as anchors may
    /// stand inside of each other.
    fn keep(&mut self, anchor: usize, sized: &Sized) -> Result<(), Refusal> {
        if anchor != 0 {
            self.kept = self.kept.saturating_add(sized.nodes);
            let checked = limits::YAML_NODES.check(self.kept, "anchors");
            checked.map_err(|diagnostic| Refusal { mark: sized.node.mark, diagnostic })?;
            self.anchors.insert(anchor, sized.clone());
        }
        Ok(())
    }

    fn wants_merge_key(&self, text: &str, style: ScalarStyle) -> bool {
        let at_key =
            matches!(self.open.last(), Some(Open { parts: Parts::Map { key: None, .. }, .. }));
        at_key && text == "<<" && style == ScalarStyle::Plain
    }

    fn merge_key(&mut self) -> Result<(), Refusal> {
        if let Some(Open { parts: Parts::Map { key, .. }, .. }) = self.open.last_mut() {
            *key = Some(Key::Merge);
        }
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn add(&mut self, sized: Sized) -> Result<(), Refusal> {
        let Sized { node, depth, nodes } = sized;
        self.check_depth(node.mark, depth)?;
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            let checked = limits::DOCUMENTS.check(self.documents.len() as u64, "file");
            let mark = self.documents.last().map_or(Mark::default(), |node| node.mark);
            return checked.map_err(|diagnostic| Refusal { mark, diagnostic });
        };
        open.depth = open.depth.max(depth);
        open.nodes += nodes;
        match &mut open.parts {
            Parts::List(items) => items.push(node),
            Parts::Map { entries, merged, key } => match key.take() {
                None => *key = Some(Key::Named(node.mark, key_text(&node)?)),
                Some(Key::Named(mark, key)) => entries.add(Entry { mark, key, node })?,
                Some(Key::Merge) => merged.extend(merge_sources(node)?),
            },
        }
        Ok(())
    }
}

/// The maps that `<<` names.
fn merge_sources(node: Node) -> Result<Vec<Node>, Refusal> {
    let mark = node.mark;
    let sources = match node.value {
        Value::List(items) => items,
        value => vec![Node { mark, value }],
    };
    match sources.iter().all(|node| matches!(node.value, Value::Map(_))) {
        true => Ok(sources),
        false => Err(refuse(Code::NotYaml, mark, "`<<` merges an object or a list of objects")),
    }
}

fn key_text(node: &Node) -> Result<std::sync::Arc<str>, Refusal> {
    match (&node.value, node.scalar()) {
        (Value::Text(text), _) => Ok(text.clone()),
        (_, Some(text)) => Ok(text.into()),
        (_, None) => {
            let what = format!("a key cannot be {}", node.kind_name());
            Err(refuse(Code::NotYaml, node.mark, what))
        }
    }
}

fn value_of(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    mark: Mark,
) -> Result<Value, Refusal> {
    if text.contains('\0') {
        return Err(refuse(Code::BadText, mark, "the text holds a NUL byte"));
    }
    let is_text = match tag {
        Some(tag) if tag.is_yaml_core_schema() => tag.suffix() == "str",
        _ => style != ScalarStyle::Plain,
    };
    if is_text {
        return Ok(Value::Text(text.into()));
    }
    scalar::resolve(text)
        .ok_or_else(|| refuse(Code::NotYaml, mark, format!("`{text}` has no JSON form")))
}
