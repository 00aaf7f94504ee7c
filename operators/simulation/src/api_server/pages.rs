//! Pages of the API server about itself, and their contents.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hyper::body::Bytes;

/// A page about the API server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Page {
    /// Whether it is well.
    Health,
    /// Its version.
    Version,
    /// The kinds of a group and version.
    Resources {
        /// The group; empty for the core group.
        group: String,
        /// The version.
        version: String,
    },
    /// The schemas of a group and version.
    OpenApi {
        /// The group.
        group: String,
        /// The version.
        version: String,
    },
}

/// The contents of pages that were asked for. All worlds have the same kinds, whose schemas are longer than all else that a
/// world sends.
#[derive(Default)]
pub(super) struct KnownPages(Mutex<BTreeMap<Page, Bytes>>);

impl KnownPages {
    /// The content of a page, if it was asked for before.
    pub(super) fn get(&self, page: &Page) -> Option<Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(page).cloned()
    }

    /// Keeps the content of a page.
    pub(super) fn keep(&self, page: &Page, content: Bytes) -> Bytes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(page.clone(), content.clone());
        content
    }
}
