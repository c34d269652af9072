//! A check that runs nothing.

use std::collections::BTreeSet;

use argosy_model::graph::{Body, Graph};
use argosy_model::process::Container;
use argosy_model::{Code, Diagnostic};

use super::library::Library;
use super::load::{Kind, Object};
use super::resolve::{SubmitOptions, resolve};
use super::yaml::Node;

/// Checks an object as far as it goes without running it, and tells what may surprise.
/// Parameters of a workflow may lack values; of stored templates it is left open who calls them.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn lint(
    object: &Object,
    space: &str,
    library: &dyn Library,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    if matches!(object.kind, Kind::ConfigMap | Kind::Secret) {
        return Ok(Vec::new());
    }
    let options = SubmitOptions {
        namespace: space.to_owned(),
        suffix: "lint".to_owned(),
        lint: true,
        ..SubmitOptions::default()
    };
    let (_, graph, _) = resolve(object, &options, library)?;
    Ok(host_images(object, &graph))
}

/// Images are not pulled: what they hold has to be on the machine.
fn host_images(object: &Object, graph: &Graph) -> Vec<Diagnostic> {
    let mut images = BTreeSet::new();
    for template in &graph.templates {
        if let Body::Process(process) | Body::ContainerSet(process) = &template.body {
            let set = process.set.iter().map(|member| &member.container);
            let containers =
                set.chain([&process.main]).chain(&process.init).chain(&process.sidecars);
            images.extend(containers.map(|container: &Container| container.image.as_str()));
        }
    }
    let literal = images.into_iter().filter(|image| !image.is_empty() && !image.contains("{{"));
    literal
        .map(|image| {
            let what =
                format!("the image `{image}` is not pulled: its programs are those of the machine");
            let mark = place_of(&object.tree, image).unwrap_or(&object.tree).mark;
            Diagnostic::new(Code::Unsupported, what)
                .at(mark.in_file(&object.file))
                .help("map the image to a folder or an environment in the configuration")
        })
        .collect()
}

/// Where an image is first named.
fn place_of<'n>(node: &'n Node, image: &str) -> Option<&'n Node> {
    if let Some(found) = node.get("image").filter(|found| found.as_text() == Some(image)) {
        return Some(found);
    }
    let items = node.items().iter();
    let values = node.entries().iter().map(|entry| &entry.node);
    items.chain(values).find_map(|inner| place_of(inner, image))
}
