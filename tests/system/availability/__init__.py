"""The primary dies, sleeps, fills up, is cut off and is relieved, while callers write; histories say what they saw."""
