-- Messages between the gateways on this store. Each lies here for a minute at most, until the gateway it is for takes it.

CREATE TABLE IF NOT EXISTS toolrail_mail (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    body BLOB NOT NULL,
    -- In seconds since 1970.
    left_at BIGINT NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER))
);

CREATE INDEX IF NOT EXISTS idx_toolrail_mail_topic ON toolrail_mail (topic, id);
