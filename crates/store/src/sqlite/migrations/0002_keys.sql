-- Keys that all gateways on this store share; whoever can read them can forge what they sign.

CREATE TABLE IF NOT EXISTS toolrail_keys (
    name TEXT PRIMARY KEY,
    secret BLOB NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
