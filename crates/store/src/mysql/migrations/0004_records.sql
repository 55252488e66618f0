-- Small documents of the gateway itself, such as the keys of clients. `record_number` in toolrail_meta counts the writes, so
-- that every gateway reads only what is new; whoever writes locks that row. Each statement may be repeated.

CREATE TABLE IF NOT EXISTS toolrail_record (
    kind VARBINARY(200) NOT NULL,
    id VARBINARY(200) NOT NULL,
    -- NULL once it was removed.
    body LONGTEXT,
    -- Of its last write.
    number BIGINT NOT NULL,
    -- When it was removed, in seconds since 1970.
    removed_at BIGINT,
    PRIMARY KEY (kind, id),
    KEY idx_toolrail_record_number (number),
    -- To forget removals, and to count what is there of a kind.
    KEY idx_toolrail_record_removed (removed_at, kind)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

INSERT IGNORE INTO toolrail_meta (name, value) VALUES ('record_number', '0');
