"""Five migrations that must not pass, each with what names it. PREDECESSOR is put in where one is tried."""
