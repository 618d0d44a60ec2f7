"""Tests of database failover: nodes fail during writes, and the callers' requests and responses are checked."""
