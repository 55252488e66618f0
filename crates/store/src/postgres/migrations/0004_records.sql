-- Small documents of the gateway itself, such as the keys of clients. `record_number` in toolrail_meta counts the writes, so
-- that every gateway reads only what is new; whoever writes holds that row until the commit, so that no number is seen
-- before a smaller one.

CREATE TABLE toolrail_record (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    -- NULL once it was removed.
    body TEXT,
    -- Of its last write.
    number BIGINT NOT NULL,
    -- When it was removed, in seconds since 1970.
    removed_at BIGINT,
    PRIMARY KEY (kind, id)
);

CREATE INDEX idx_toolrail_record_number ON toolrail_record (number);
-- To forget removals, and to count what is there of a kind.
CREATE INDEX idx_toolrail_record_removed ON toolrail_record (removed_at, kind);

INSERT INTO toolrail_meta (name, value) VALUES ('record_number', '0');
