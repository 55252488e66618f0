-- What happened behind the triggers: while they were away or switched off, or in a table that came in the place of another.
-- Every definition is compared with the newest of its versions.

-- Rows that are not as that says, or of which it does not tell; and, without a row, versions of definitions that are not
-- there although those say so, or of which there is a row with another version. Everything is read once: what the server
-- believes of tables that were filled a moment ago must not make it look up each by itself.
CREATE OR REPLACE FUNCTION toolrail_otherwise() RETURNS TABLE (in_table oid, place tid, revision bigint)
LANGUAGE sql STABLE SET enable_nestloop = off SET enable_mergejoin = off SET jit = off AS $$
    SELECT tool.tableoid, tool.ctid, version.revision
    FROM mcp_tool AS tool
    FULL JOIN (SELECT told.*
               FROM (SELECT max(one.revision) AS revision FROM mcp_tool_history AS one GROUP BY one.tenant, one.name_key)
                   AS newest
               JOIN mcp_tool_history AS told USING (revision) WHERE told.kind <> 'removed') AS version
    ON version.revision = tool.version
    WHERE tool.name IS NULL OR version.revision IS NULL
    OR version.tenant <> coalesce(tool.tenant_id, '') OR version.name <> tool.name::text
    OR version.enabled <> coalesce(tool.enabled, FALSE) OR version.config_json <> mcp_tool_document(tool)
    ORDER BY tool.id, version.revision
$$;

-- Enters so many of them at most as changes made now, and returns how many those were. To adopt is to enter rows of which
-- nothing is known, as they are.
CREATE OR REPLACE FUNCTION toolrail_reconcile(how text, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    counted bigint;
    drawn bigint;
    stray record;
    gone mcp_tool_history;
    entered bigint := 0;
BEGIN
    UPDATE mcp_config_version SET held_by = txid_current() WHERE id = 1 RETURNING version INTO STRICT counted;
    PERFORM mcp_tool_draw_after(counted);
    PERFORM set_config('toolrail.mending', how, TRUE);
    FOR stray IN SELECT found.* FROM toolrail_otherwise() AS found WHERE found.place IS NOT NULL LIMIT most LOOP
        UPDATE mcp_tool AS tool SET version = tool.version
        WHERE tool.ctid = stray.place AND tool.tableoid = stray.in_table;
        entered := entered + 1;
    END LOOP;
    -- Only now is there none of which another version tells.
    FOR gone IN SELECT version.* FROM toolrail_otherwise() AS found JOIN mcp_tool_history AS version USING (revision)
        WHERE found.place IS NULL AND entered < most ORDER BY version.revision LIMIT most LOOP
        drawn := nextval('mcp_tool_revision');
        INSERT INTO mcp_tool_tombstone (tenant, name_key, version) VALUES (gone.tenant, gone.name_key, drawn)
        ON CONFLICT (tenant, name_key) DO UPDATE SET version = excluded.version, at = excluded.at;
        INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at)
        VALUES (drawn, gone.tenant, gone.name_key, gone.name, 'removed', gone.enabled, gone.config_json, clock_timestamp());
        PERFORM mcp_tool_tell('delete', gone.name, gone.tenant, drawn);
        entered := entered + 1;
    END LOOP;
    PERFORM set_config('toolrail.mending', '', TRUE);
    SELECT last_value INTO counted FROM mcp_tool_revision;
    UPDATE mcp_config_version SET version = greatest(version, counted), held_by = NULL WHERE id = 1;
    RETURN entered;
END
$$;
