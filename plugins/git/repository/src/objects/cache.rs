//! A bounded memory of objects; the oldest go first.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use super::Object;

/// What an entry takes besides its content, about.
const OVERHEAD: usize = 128;

#[derive(Debug)]
pub struct Cache<K> {
    entries: HashMap<K, Object>,
    order: VecDeque<K>,
    bytes: usize,
    limit: usize,
}

impl<K: Hash + Eq + Copy> Cache<K> {
    pub fn new(limit: usize) -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), bytes: 0, limit }
    }

    pub fn get(&self, key: &K) -> Option<Object> {
        self.entries.get(key).cloned()
    }

    /// One that would take more than a quarter of the memory is not kept.
    pub fn put(&mut self, key: K, object: Object) {
        let size = object.data.len() + OVERHEAD;
        if size > self.limit / 4 || self.entries.contains_key(&key) {
            return;
        }
        self.bytes += size;
        self.entries.insert(key, object);
        self.order.push_back(key);
        while self.bytes > self.limit {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(gone) = self.entries.remove(&oldest) {
                self.bytes -= gone.data.len() + OVERHEAD;
            }
        }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.order.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::objects::Kind;

    #[test]
    fn it_never_holds_more_than_its_limit() {
        let mut cache = Cache::new(4096);
        for key in 0..1000 {
            cache.put(key, Object { kind: Kind::Blob, data: Rc::new(vec![0; key % 900]) });
            assert!(cache.bytes <= 4096 && cache.order.len() == cache.entries.len());
        }
        assert!(cache.get(&999).is_some() && cache.get(&0).is_none());
        cache.put(5000, Object { kind: Kind::Blob, data: Rc::new(vec![0; 2000]) });
        assert!(cache.get(&5000).is_none(), "more than a quarter");
    }
}
