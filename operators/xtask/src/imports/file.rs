//! What one file defines and which paths it names, by its syntax alone.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Lit, Meta, Token, UseTree, Visibility};

/// A module or an item, by the names that lead to it.
pub(super) type Names = Vec<String>;

/// The contents of one file without its tests.
#[derive(Default)]
pub(super) struct File {
    /// Names of the items that it defines.
    pub(super) items: BTreeSet<String>,
    /// Names of the types that other files can see.
    pub(super) types: BTreeSet<String>,
    /// Names of the child modules that have files of their own.
    pub(super) children: Vec<String>,
    /// Names that it imports, and what they stand for.
    pub(super) uses: BTreeMap<String, Names>,
    /// Modules all of whose names it imports.
    pub(super) globs: Vec<Names>,
    /// Paths of two or more names in its code.
    pub(super) paths: BTreeSet<Names>,
    /// How many inline modules surround the item that is visited.
    depth: usize,
}

impl File {
    /// Reads Rust code.
    ///
    /// # Errors
    /// If the text is not Rust.
    pub(super) fn parse(text: &str) -> syn::Result<Self> {
        let parsed = syn::parse_file(text)?;
        let mut file = Self::default();
        for item in parsed.items.iter().filter(|item| !is_of_tests(attributes(item))) {
            match item {
                Item::Mod(child) if child.content.is_none() => file.children.push(child.ident.to_string()),
                Item::Use(item) if item.leading_colon.is_none() => file.import(&[], &item.tree),
                item => {
                    file.items.extend(name(item));
                    file.visit_item(item);
                }
            }
        }
        Ok(file)
    }

    /// Records what a `use` of this file's own module imports.
    fn import(&mut self, before: &[String], tree: &UseTree) {
        let joined = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&joined(&path.ident), &path.tree),
            UseTree::Name(name) if name.ident == "self" => {
                self.uses.extend(before.last().map(|last| (last.clone(), before.to_vec())));
            }
            UseTree::Name(name) => drop(self.uses.insert(name.ident.to_string(), joined(&name.ident))),
            UseTree::Rename(rename) => {
                let target = if rename.ident == "self" { before.to_vec() } else { joined(&rename.ident) };
                // Any number of traits may be imported without a name.
                let unnamed = rename.rename == "_";
                let name = if unnamed { format!("_{}", self.uses.len()) } else { rename.rename.to_string() };
                self.uses.insert(name, target);
            }
            UseTree::Glob(_) => self.globs.push(before.to_vec()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(before, tree)),
        }
    }

    /// Records a path as the file's own module would write it: `super` in an inline module is the module around it.
    fn record(&mut self, names: &[String]) {
        let outward = names.iter().take(self.depth).take_while(|name| *name == "super").count();
        let here = if outward > 0 { vec!["self".to_owned()] } else { Names::new() };
        let path = [&here, &names[outward..]].concat();
        if path.len() > 1 {
            self.paths.insert(path);
        }
    }

    /// Records the paths in the arguments of a macro. String literals count too, because serde takes paths in them.
    fn record_tokens(&mut self, tokens: &str) {
        let tokens = tokens.replace(" :: ", "::").replace(":: ", "::").replace(" ::", "::");
        for word in tokens.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
            let names: Names = word.split("::").map(str::to_owned).collect();
            if names.iter().all(|name| !name.is_empty() && !name.contains(':')) {
                self.record(&names);
            }
        }
    }
}

impl<'ast> Visit<'ast> for File {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_of_tests(attributes(item)) {
            self.types.extend(visible_type(item));
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_of_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.depth += 1;
        visit::visit_item_mod(self, module);
        self.depth -= 1;
    }

    /// A `use` in a function or an inline module: its names are unknown elsewhere in the file, so only its paths count.
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut local = Self::default();
        if item.leading_colon.is_none() {
            local.import(&[], &item.tree);
        }
        local.uses.values().chain(&local.globs).for_each(|names| self.record(names));
    }

    /// `pub(in path)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names: Names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.record(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        self.record_tokens(&it.tokens.to_string());
        visit::visit_macro(self, it);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.record_tokens(&list.tokens.to_string());
        }
    }
}

/// Whether an item with these attributes is compiled only for tests.
fn is_of_tests(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.filter_map(|attribute| attribute.parse_args::<Meta>().ok()).any(|condition| asks_for_tests(&condition))
}

/// Whether a condition of `cfg` holds only in tests: `test`, or the feature `testing`, which only tests enable.
fn asks_for_tests(condition: &Meta) -> bool {
    match condition {
        Meta::Path(name) => name.is_ident("test"),
        Meta::NameValue(pair) => {
            let text = match &pair.value {
                Expr::Lit(literal) => &literal.lit,
                _ => return false,
            };
            pair.path.is_ident("feature") && matches!(text, Lit::Str(name) if name.value() == "testing")
        }
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default();
            let mut parts = parts.iter();
            list.path.is_ident("all") && parts.clone().any(asks_for_tests)
                || list.path.is_ident("any") && parts.all(asks_for_tests)
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The name of a struct, an enum, a trait or a type alias that is not private to its module.
fn visible_type(item: &Item) -> Option<String> {
    let (visibility, name) = match item {
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        Item::Union(item) => (&item.vis, &item.ident),
        _ => return None,
    };
    (!matches!(visibility, Visibility::Inherited)).then(|| name.to_string())
}
