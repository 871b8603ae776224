//! Zones by id and by name.

use std::ops::Deref;
use std::sync::Arc;

use imbl::OrdMap;

use crate::{Declared, Zone, ZoneId};

/// Zones by id, each found by its name too. Clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct ZoneMap {
    by_id: OrdMap<ZoneId, Arc<Declared<Zone>>>,
    by_name: OrdMap<String, Arc<Declared<Zone>>>,
}

impl ZoneMap {
    /// The zone of a name in lower case, without a final dot.
    pub fn named(&self, name: &str) -> Option<&Arc<Declared<Zone>>> {
        self.by_name.get(name)
    }

    /// Puts a zone in the place of that of its id, if there is one, which is returned.
    pub fn insert(&mut self, id: ZoneId, zone: Arc<Declared<Zone>>) -> Option<Arc<Declared<Zone>>> {
        let known = self.remove(&id);
        self.by_name.insert(zone.name.clone(), Arc::clone(&zone));
        self.by_id.insert(id, zone);
        known
    }

    /// Adds those of another, as `by_id` adds them.
    pub(crate) fn merge(
        &mut self,
        other: Self,
        by_id: impl FnOnce(&mut OrdMap<ZoneId, Arc<Declared<Zone>>>, OrdMap<ZoneId, Arc<Declared<Zone>>>),
    ) {
        by_id(&mut self.by_id, other.by_id);
        self.by_name = std::mem::take(&mut self.by_name).union(other.by_name);
    }

    pub fn remove(&mut self, id: &ZoneId) -> Option<Arc<Declared<Zone>>> {
        let known = self.by_id.remove(id)?;
        // Another may have its name by now.
        if self.by_name.get(&known.name).is_some_and(|named| named.id == *id) {
            self.by_name.remove(&known.name);
        }
        Some(known)
    }
}

/// Zones by id.
impl Deref for ZoneMap {
    type Target = OrdMap<ZoneId, Arc<Declared<Zone>>>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}

impl PartialEq for ZoneMap {
    fn eq(&self, other: &Self) -> bool {
        self.by_id == other.by_id
    }
}

impl FromIterator<(ZoneId, Arc<Declared<Zone>>)> for ZoneMap {
    fn from_iter<I: IntoIterator<Item = (ZoneId, Arc<Declared<Zone>>)>>(zones: I) -> Self {
        let mut map = Self::default();
        zones.into_iter().for_each(|(id, zone)| drop(map.insert(id, zone)));
        map
    }
}

impl IntoIterator for ZoneMap {
    type Item = (ZoneId, Arc<Declared<Zone>>);
    type IntoIter =
        imbl::ordmap::ConsumingIter<ZoneId, Arc<Declared<Zone>>, imbl::shared_ptr::DefaultSharedPtr>;

    fn into_iter(self) -> Self::IntoIter {
        self.by_id.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccountId;

    #[test]
    fn zones_are_found_by_their_names_as_long_as_they_are_there() {
        let mut zones = ZoneMap::default();
        let put = |zones: &mut ZoneMap, id: &str, name: &str| {
            let zone = Zone::new(ZoneId::new(id), AccountId::new("a"), name);
            zones.insert(ZoneId::new(id), Arc::new(Declared::at_revision(zone, 1)))
        };
        let of = |zones: &ZoneMap, name: &str| zones.named(name).map(|zone| zone.id.to_string());
        assert!(put(&mut zones, "1", "a.example").is_none() && put(&mut zones, "2", "b.example").is_none());
        let before = zones.clone();
        assert!(put(&mut zones, "1", "c.example").is_some());
        assert_eq!((of(&zones, "a.example"), of(&zones, "c.example")), (None, Some("1".to_owned())));
        // A name that two have for a moment is of the later one.
        put(&mut zones, "3", "b.example");
        assert_eq!(
            zones.remove(&ZoneId::new("2")).map(|zone| zone.name.clone()),
            Some("b.example".to_owned())
        );
        assert_eq!((of(&zones, "b.example"), zones.len()), (Some("3".to_owned()), 2));
        assert_eq!(
            (of(&before, "a.example"), of(&before, "b.example")),
            (Some("1".to_owned()), Some("2".to_owned()))
        );
        assert_eq!(zones.remove(&ZoneId::new("2")), None);
    }
}
