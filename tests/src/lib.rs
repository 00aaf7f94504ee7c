//! Helpers of the end-to-end tests, which run on a real cluster.
