-- What happened behind the triggers: while they were away or switched off, or in a table that came in the place of another.
-- Every definition is compared with the newest of its versions.

-- Rows that are not as that says, or of which it does not tell. One look-up by an index for each: joins would be planned by
-- what the server believes of tables that were filled a moment ago. The collation is that of the column in the index.
CREATE OR REPLACE FUNCTION toolrail_strays() RETURNS TABLE (in_table oid, place tid) LANGUAGE sql STABLE AS $$
    SELECT tool.tableoid, tool.ctid FROM mcp_tool AS tool
    WHERE NOT coalesce(
        (SELECT version.tenant = coalesce(tool.tenant_id, '') AND version.name = tool.name::text
                AND version.kind <> 'removed' AND version.enabled = coalesce(tool.enabled, FALSE)
                AND version.config_json = mcp_tool_document(tool)
         FROM mcp_tool_history AS version WHERE version.revision = tool.version), FALSE)
    OR tool.version <> (SELECT max(later.revision) FROM mcp_tool_history AS later
                        WHERE later.tenant = coalesce(tool.tenant_id, '')
                        AND later.name_key = lower(tool.name COLLATE "C") COLLATE "default")
    ORDER BY tool.id
$$;

-- The newest versions of definitions that are not there although those say so.
CREATE OR REPLACE FUNCTION toolrail_lost() RETURNS TABLE (revision bigint) LANGUAGE sql STABLE AS $$
    SELECT version.revision FROM mcp_tool_history AS version
    WHERE version.kind <> 'removed'
    AND NOT EXISTS (SELECT FROM mcp_tool AS tool WHERE coalesce(tool.tenant_id, '') = version.tenant
                    AND lower(tool.name COLLATE "C") = version.name_key)
    AND version.revision = (SELECT max(later.revision) FROM mcp_tool_history AS later
                            WHERE later.tenant = version.tenant AND later.name_key = version.name_key)
    ORDER BY version.revision
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
    FOR gone IN SELECT version.* FROM toolrail_lost() AS lost JOIN mcp_tool_history AS version USING (revision)
        ORDER BY version.revision LIMIT most LOOP
        drawn := nextval('mcp_tool_revision');
        INSERT INTO mcp_tool_tombstone (tenant, name_key, version) VALUES (gone.tenant, gone.name_key, drawn)
        ON CONFLICT (tenant, name_key) DO UPDATE SET version = excluded.version, at = excluded.at;
        INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at)
        VALUES (drawn, gone.tenant, gone.name_key, gone.name, 'removed', gone.enabled, gone.config_json, clock_timestamp());
        PERFORM mcp_tool_tell('delete', gone.name, gone.tenant, drawn);
        entered := entered + 1;
    END LOOP;
    FOR stray IN SELECT found.* FROM toolrail_strays() AS found LIMIT most LOOP
        UPDATE mcp_tool AS tool SET version = tool.version
        WHERE tool.ctid = stray.place AND tool.tableoid = stray.in_table;
        entered := entered + 1;
    END LOOP;
    PERFORM set_config('toolrail.mending', '', TRUE);
    SELECT last_value INTO counted FROM mcp_tool_revision;
    UPDATE mcp_config_version SET version = greatest(version, counted), held_by = NULL WHERE id = 1;
    RETURN entered;
END
$$;
