-- What the gateways on this store tell each other.

-- Letters for one of them. Each lies here for a minute at most, until the gateway it is for takes it.
CREATE TABLE IF NOT EXISTS toolrail_mail (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    body BLOB NOT NULL,
    -- In seconds since 1970.
    left_at BIGINT NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER))
);

CREATE INDEX IF NOT EXISTS idx_toolrail_mail_topic ON toolrail_mail (topic, id);

-- News for all of them. Only the newest are kept; no number is ever used again.
CREATE TABLE IF NOT EXISTS toolrail_news (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    body BLOB NOT NULL
);
