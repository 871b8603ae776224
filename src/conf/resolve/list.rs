//! `[[lists]]` resolved: values from the configuration or from a file of their own.

use std::sync::Arc;

use super::Resolving;
use crate::conf::list_file::ListFile;
use crate::named_file::read_text;
use expression::NamedSet;
use model::{Account, AccountId, Declared, ListItem, ListKind, NamedList, Resources, RulesetId};

impl Resolving<'_> {
    pub(super) fn list(&mut self, file: ListFile, resources: &mut Resources) {
        let ListFile { name, kind, description, items, file } = file;
        if !NamedList::is_name(&name.value) {
            let message = format!("`{}` is no name of a list: 1 to 50 of a-z, 0-9 and `_`", name.value);
            self.bad(&name.place, message);
        }
        let Some(kind_of_items) = ListKind::parse(&kind.value) else {
            let message = format!("unknown kind `{}`; expected `ip`, `hostname` or `asn`", kind.value);
            return self.bad(&kind.place, message);
        };
        let (values, place) = match (items, file) {
            (Some(items), None) => (items.value, items.place),
            (None, Some(file)) => {
                let path = self.existing(&file);
                let text = read_text(&path).unwrap_or_default();
                let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
                (lines.filter(|line| !line.is_empty()).map(str::to_owned).collect(), file.place)
            }
            _ => return self.bad(&name.place, "a list has either `items` or a `file` with one value a line"),
        };
        if values.len() > NamedList::MAX_ITEMS {
            let message =
                format!("a list has at most {} values, found {}", NamedList::MAX_ITEMS, values.len());
            return self.bad(&place, message);
        }
        let mut items = Vec::with_capacity(values.len());
        for value in &values {
            match NamedSet::normal_form(kind_of_items, value) {
                Ok(value) => items.push(ListItem {
                    id: RulesetId::derived("list item", &format!("{}/{value}", name.value)).to_string(),
                    value,
                    comment: String::new(),
                    created_on: String::new(),
                    modified_on: String::new(),
                }),
                Err(message) => self.bad(&place, message),
            }
        }
        let list = NamedList {
            id: RulesetId::derived("list", &name.value).to_string(),
            account: AccountId::new(Account::DEFAULT),
            name: name.value,
            description,
            kind: kind_of_items,
            items,
            created_on: String::new(),
            modified_on: String::new(),
        };
        let (id, shown) = (list.id.clone(), list.name.clone());
        if resources.lists.insert(id, Arc::new(Declared::in_file(list, name.place.clone()))).is_some() {
            self.conflict(&name.place, format!("the list `{shown}` is declared twice"));
        }
    }
}
