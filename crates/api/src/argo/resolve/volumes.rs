//! Volumes.

use argosy_model::process::VolumeSource;

use crate::argo::yaml::Node;

/// What a volume holds; `None` where it does not say.
pub(super) fn source(node: &Node) -> Option<VolumeSource> {
    if node.get("emptyDir").is_some() {
        return Some(VolumeSource::EmptyDir);
    }
    if let Some(path) = node.get("hostPath") {
        return Some(VolumeSource::HostPath(path.text("path").to_owned()));
    }
    let items = |store: &Node| {
        let pair = |item: &Node| (item.text("key").to_owned(), item.text("path").to_owned());
        store.list("items").iter().map(pair).collect()
    };
    if let Some(secret) = node.get("secret") {
        return Some(VolumeSource::Secret {
            name: secret.text("secretName").to_owned(),
            items: items(secret),
            optional: secret.flag("optional"),
        });
    }
    let map = node.get("configMap")?;
    Some(VolumeSource::ConfigMap {
        name: map.text("name").to_owned(),
        items: items(map),
        optional: map.flag("optional"),
    })
}
