-- One revision for all definitions, what they were before, and what the gateways on one database share.

CREATE TABLE IF NOT EXISTS mcp_config_version (
    id SMALLINT PRIMARY KEY DEFAULT 1,
    version BIGINT NOT NULL
);

-- The transaction that keeps the count itself, while it does: a row that is updated ten thousand times in one transaction
-- takes ever longer to find.
ALTER TABLE mcp_config_version ADD COLUMN IF NOT EXISTS held_by BIGINT;

INSERT INTO mcp_config_version (id, version)
SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM mcp_config_version WHERE id = 1);

-- Numbers for the rows of one transaction. Whoever draws one holds the row of mcp_config_version, from which each
-- transaction sets this anew: a rollback leaves no gap, and no number is seen before a smaller one.
CREATE SEQUENCE IF NOT EXISTS mcp_tool_revision MINVALUE 0 START 0;

-- In what follows, a tenant '' is everybody.
CREATE TABLE mcp_tool_tombstone (
    tenant TEXT NOT NULL DEFAULT '',
    name_key TEXT NOT NULL,
    version BIGINT NOT NULL,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, name_key)
);

CREATE INDEX idx_mcp_tool_tombstone_version ON mcp_tool_tombstone (version);

CREATE TABLE mcp_tool_history (
    revision BIGINT PRIMARY KEY,
    tenant TEXT NOT NULL DEFAULT '',
    name_key TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    config_json TEXT NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    who TEXT,
    address TEXT,
    via TEXT
);

CREATE INDEX idx_mcp_tool_history_key ON mcp_tool_history (tenant, name_key, revision);

-- Times are kept as the text that was hashed.
CREATE TABLE mcp_tool_audit (
    number BIGINT PRIMARY KEY,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    address TEXT,
    via TEXT NOT NULL,
    action TEXT NOT NULL,
    tenant TEXT,
    name TEXT NOT NULL,
    revision BIGINT NOT NULL,
    changes TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
);

CREATE TABLE mcp_tool_use (
    tenant TEXT NOT NULL DEFAULT '',
    name_key TEXT NOT NULL,
    use_frequency BIGINT NOT NULL,
    last_used TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant, name_key)
);

-- Keys that all gateways share; whoever can read them can forge what they sign.
CREATE TABLE toolrail_keys (
    name TEXT PRIMARY KEY,
    secret BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Letters for one gateway. Each lies here for a minute at most, until the gateway it is for takes it.
CREATE TABLE toolrail_mail (
    id BIGSERIAL PRIMARY KEY,
    topic TEXT NOT NULL,
    body BYTEA NOT NULL,
    -- In seconds since 1970.
    left_at BIGINT NOT NULL DEFAULT (floor(extract(epoch FROM clock_timestamp()))::bigint)
);

CREATE INDEX idx_toolrail_mail_topic ON toolrail_mail (topic, id);

-- News for all of them: 0 lasts, 1 passes. Only the newest of each kind are kept; no number is ever used again.
CREATE TABLE toolrail_news (
    id BIGSERIAL PRIMARY KEY,
    kind SMALLINT NOT NULL DEFAULT 0,
    body BYTEA NOT NULL
);

CREATE INDEX idx_toolrail_news_kind ON toolrail_news (kind, id);

-- audit_head: number and hash of the newest entry of the audit record; history_from: the oldest revision whose state
-- can be told.
CREATE TABLE toolrail_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
