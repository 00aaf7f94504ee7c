//! The cycles of a directed graph, by Tarjan's algorithm for strongly connected components.

use std::collections::BTreeMap;

/// The edges of each node, by the node that they lead to.
pub(super) type Edges<N, W> = BTreeMap<N, BTreeMap<N, W>>;

/// The groups of two or more nodes of which each leads to all others.
pub(super) fn cycles<N: Ord + Clone, W>(edges: &Edges<N, W>) -> Vec<Vec<N>> {
    let mut search = Search { edges, index: BTreeMap::new(), stack: Vec::new(), found: Vec::new() };
    for node in edges.keys() {
        if !search.index.contains_key(node) {
            search.visit(node);
        }
    }
    search.found
}

struct Search<'a, N, W> {
    edges: &'a Edges<N, W>,
    /// The order in which nodes were visited.
    index: BTreeMap<&'a N, usize>,
    /// Visited nodes whose group is not complete.
    stack: Vec<&'a N>,
    found: Vec<Vec<N>>,
}

impl<'a, N: Ord + Clone, W> Search<'a, N, W> {
    /// Visits a node and all that it leads to; returns the earliest node that it leads back to.
    fn visit(&mut self, node: &'a N) -> usize {
        let number = self.index.len();
        self.index.insert(node, number);
        self.stack.push(node);
        let mut low = number;
        for next in self.edges.get(node).into_iter().flat_map(BTreeMap::keys) {
            match self.index.get(next) {
                None => low = low.min(self.visit(next)),
                Some(&earlier) if self.stack.contains(&next) => low = low.min(earlier),
                Some(_) => {}
            }
        }
        if low == number {
            self.close(node);
        }
        low
    }

    /// Takes the group that begins with `node` off the stack.
    fn close(&mut self, node: &N) {
        let from = self.stack.iter().position(|other| *other == node).unwrap_or_default();
        let group: Vec<N> = self.stack.split_off(from).into_iter().cloned().collect();
        if group.len() > 1 {
            self.found.push(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[(char, &str)]) -> Vec<String> {
        let edges = edges.iter().map(|(from, to)| (*from, to.chars().map(|to| (to, ())).collect())).collect();
        let groups = cycles::<char, ()>(&edges).into_iter();
        groups
            .map(|mut group| {
                group.sort_unstable();
                group.into_iter().collect()
            })
            .collect()
    }

    #[test]
    fn a_group_is_all_that_leads_back_and_nothing_beside_it() {
        assert_eq!(found(&[('a', "b"), ('b', "c"), ('c', "bd"), ('d', "")]), ["bc"]);
        assert_eq!(found(&[('a', "b"), ('b', "ca"), ('c', "a")]), ["abc"]);
        assert_eq!(found(&[('a', "b"), ('b', "a"), ('c', "d"), ('d', "ca")]), ["ab", "cd"]);
    }

    #[test]
    fn two_ways_to_one_node_and_a_node_that_leads_to_itself_are_no_cycle() {
        assert!(found(&[('a', "bc"), ('b', "d"), ('c', "d"), ('d', "")]).is_empty());
        assert!(found(&[('a', "a")]).is_empty());
    }
}
