//! The modules of a crate with the names that each declares and imports, read from its source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, UseTree, VisRestricted, Visibility};

/// The modules of a crate. The first one is the crate itself.
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
    /// Source files, by their paths.
    pub(super) files: Vec<PathBuf>,
}

/// A module, in a file of its own or inline.
#[derive(Default)]
pub(super) struct Module {
    /// Index of its file.
    pub(super) file: usize,
    pub(super) parent: usize,
    /// Modules declared in it. Of one name there may be several, one for each architecture.
    pub(super) children: BTreeMap<String, Vec<usize>>,
    /// Names of its other items.
    pub(super) items: BTreeSet<String>,
    /// What `use` brings into it.
    pub(super) uses: Vec<Use>,
    /// Paths in its code outside `use`.
    pub(super) paths: Vec<Vec<String>>,
    /// All words of its code outside `use`.
    pub(super) words: BTreeSet<String>,
}

/// One name that a `use` brings in.
pub(super) struct Use {
    /// `None` for all names (`*`).
    pub(super) name: Option<String>,
    pub(super) path: Vec<String>,
    /// Whether others may import the name from here.
    pub(super) is_public: bool,
}

impl Crate {
    /// Reads the crate whose root file is `root`.
    pub(super) fn read(root: &Path) -> Result<Crate> {
        let mut read = Crate { modules: Vec::new(), files: Vec::new() };
        let folder = root.parent().unwrap_or(root).to_path_buf();
        read.file(root, 0, &folder)?;
        Ok(read)
    }

    /// Reads a file as a module below `parent`; files of its own modules lie in `folder`. Returns the module's index.
    fn file(&mut self, path: &Path, parent: usize, folder: &Path) -> Result<usize> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))?;
        self.files.push(path.to_path_buf());
        self.module(self.files.len() - 1, parent, folder, &parsed.items)
    }

    /// Adds a module with these items, and those below it.
    fn module(&mut self, file: usize, parent: usize, folder: &Path, items: &[Item]) -> Result<usize> {
        let index = self.modules.len();
        self.modules.push(Module { file, parent, ..Module::default() });
        let mut reader = Reader::default();
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            match item {
                Item::Mod(declared) => {
                    let child = self.declared(declared, index, folder)?;
                    self.modules[index].children.entry(declared.ident.to_string()).or_default().push(child);
                }
                other => {
                    reader.module.items.extend(name(other));
                    reader.visit_item(other);
                }
            }
        }
        let children = std::mem::take(&mut self.modules[index].children);
        self.modules[index] = Module { file, parent, children, ..reader.module };
        Ok(index)
    }

    /// Adds the module that `mod` declares in the module `parent`.
    fn declared(&mut self, declared: &ItemMod, parent: usize, folder: &Path) -> Result<usize> {
        let name = declared.ident.to_string();
        let below = folder.join(&name);
        if let Some((_, items)) = &declared.content {
            return self.module(self.modules[parent].file, parent, &below, items);
        }
        if let Some(path) = path_of(declared) {
            let beside = self.files[self.modules[parent].file].parent().unwrap_or(folder).join(path);
            let folder = beside.parent().unwrap_or(folder).to_path_buf();
            return self.file(&beside, parent, &folder);
        }
        let (file, nested) = (below.with_extension("rs"), below.join("mod.rs"));
        self.file(if file.exists() { &file } else { &nested }, parent, &below)
    }
}

/// Collects what the items of a module name.
#[derive(Default)]
struct Reader {
    module: Module,
}

impl<'a> Visit<'a> for Reader {
    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        flatten(&item.tree, &mut Vec::new(), is_public, &mut self.module.uses);
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_vis_restricted(&mut self, _: &'a VisRestricted) {
        // `pub(crate)` imports nothing.
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.module.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_ident(&mut self, word: &'a proc_macro2::Ident) {
        self.module.words.insert(word.to_string());
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

impl Reader {
    /// The paths in the tokens of a macro: words with `::` between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.module.paths.push(std::mem::take(&mut path));
                    }
                    self.module.words.insert(word.to_string());
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.module.paths.push(std::mem::take(&mut path));
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.module.paths.push(path);
    }
}

/// Adds the names of a tree of `use`.
fn flatten(tree: &UseTree, path: &mut Vec<String>, is_public: bool, uses: &mut Vec<Use>) {
    let mut add = |name: Option<String>, last: Option<String>, path: &[String]| {
        let path: Vec<String> = path.iter().cloned().chain(last).collect();
        uses.push(Use { name, path, is_public });
    };
    match tree {
        UseTree::Path(below) => {
            path.push(below.ident.to_string());
            flatten(&below.tree, path, is_public, uses);
            path.pop();
        }
        UseTree::Name(leaf) if leaf.ident == "self" => add(path.last().cloned(), None, path),
        UseTree::Name(leaf) => add(Some(leaf.ident.to_string()), Some(leaf.ident.to_string()), path),
        UseTree::Rename(leaf) if leaf.ident == "self" => add(Some(leaf.rename.to_string()), None, path),
        UseTree::Rename(leaf) => add(Some(leaf.rename.to_string()), Some(leaf.ident.to_string()), path),
        UseTree::Glob(_) => add(None, None, path),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, path, is_public, uses)),
    }
}

/// The value of `#[path = "…"]`.
fn path_of(declared: &ItemMod) -> Option<String> {
    let attribute = declared.attrs.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
    Some(text.value())
}

/// Whether an item is compiled in tests alone.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test") || path.is_ident("doctest"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item declares.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
