-- Definitions. A table that was here before us has been given our columns by now, and keeps its own.
CREATE TABLE IF NOT EXISTS mcp_tool (
    id BIGSERIAL PRIMARY KEY,
    name TEXT NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT TRUE,
    config_json JSONB NOT NULL,
    version BIGINT NOT NULL DEFAULT 0,
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_by TEXT,
    created_at TIMESTAMPTZ,
    tenant_id TEXT,
    -- The definition as it was written, if it came in through us; config_json is for everybody else.
    config_text TEXT
);

CREATE INDEX IF NOT EXISTS idx_mcp_tool_updated_at ON mcp_tool (updated_at);
