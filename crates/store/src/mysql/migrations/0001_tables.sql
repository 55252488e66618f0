-- Everything beside the definitions themselves. Each statement may be repeated: MySQL commits each by itself, and a
-- gateway may die between two of them.

-- One revision for all definitions. `live` counts the rows that the triggers saw come and not go; `truncated` says that
-- they found the table empty all the same.
CREATE TABLE IF NOT EXISTS mcp_config_version (
    id SMALLINT PRIMARY KEY DEFAULT 1,
    version BIGINT NOT NULL,
    live BIGINT NOT NULL DEFAULT 0,
    truncated BOOLEAN NOT NULL DEFAULT FALSE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- When what was here last went. It may have come back since: readers look.
CREATE TABLE IF NOT EXISTS mcp_tool_tombstone (
    tenant_key VARBINARY(1020) NOT NULL,
    name_key VARBINARY(2000) NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (tenant_key, name_key),
    KEY idx_mcp_tool_tombstone_version (version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- Whatever another program could write into mcp_tool has room here.
CREATE TABLE IF NOT EXISTS mcp_tool_history (
    revision BIGINT PRIMARY KEY,
    tenant_key VARBINARY(1020) NOT NULL,
    name_key VARBINARY(2000) NOT NULL,
    tenant LONGTEXT,
    name LONGTEXT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    enabled BOOLEAN NOT NULL,
    config_json LONGTEXT,
    -- In UTC.
    at DATETIME(6) NOT NULL,
    who LONGTEXT,
    address TEXT,
    via TEXT,
    KEY idx_mcp_tool_history_key (tenant_key, name_key, revision)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- Times are text here: the hash covers them as they were written.
CREATE TABLE IF NOT EXISTS mcp_tool_audit (
    number BIGINT PRIMARY KEY,
    at VARCHAR(40) NOT NULL,
    who TEXT NOT NULL,
    address TEXT,
    via TEXT NOT NULL,
    action VARCHAR(20) NOT NULL,
    tenant TEXT,
    name TEXT NOT NULL,
    revision BIGINT NOT NULL,
    changes LONGTEXT NOT NULL,
    previous VARCHAR(64) NOT NULL,
    hash VARCHAR(64) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS mcp_tool_use (
    tenant_key VARBINARY(1020) NOT NULL,
    name_key VARBINARY(2000) NOT NULL,
    use_frequency BIGINT NOT NULL,
    last_used DATETIME(6) NOT NULL,
    PRIMARY KEY (tenant_key, name_key)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- Keys that all gateways on this store share; whoever can read them can forge what they sign.
CREATE TABLE IF NOT EXISTS toolrail_keys (
    name VARCHAR(200) PRIMARY KEY,
    secret VARBINARY(64) NOT NULL,
    created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- Letters for one gateway. Each lies here for a minute at most, until the gateway it is for takes it.
CREATE TABLE IF NOT EXISTS toolrail_mail (
    id BIGINT PRIMARY KEY AUTO_INCREMENT,
    topic VARBINARY(1024) NOT NULL,
    body LONGBLOB NOT NULL,
    -- Of the body, so that nobody must read it to know.
    size BIGINT NOT NULL,
    -- In seconds since 1970.
    left_at BIGINT NOT NULL,
    KEY idx_toolrail_mail_topic (topic, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- News for all of them. Only the newest of each kind are kept (0 lasts, 1 passes); no number is ever used again.
CREATE TABLE IF NOT EXISTS toolrail_news (
    id BIGINT PRIMARY KEY,
    kind TINYINT NOT NULL,
    body BLOB NOT NULL,
    KEY idx_toolrail_news_kind (kind, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- What there is one of: the head of the audit record, how far back history reaches, the last number of the news. The rows
-- `mail` and `news` are locked by whoever writes to those tables.
CREATE TABLE IF NOT EXISTS toolrail_meta (
    name VARCHAR(64) PRIMARY KEY,
    value TEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

INSERT IGNORE INTO toolrail_meta (name, value) VALUES ('mail', '0'), ('news', '0');
