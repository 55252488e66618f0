-- Makes our own changes in their order, in one round trip, and tells of each that had an effect what was there before;
-- ends with the first whose expectation is not met. An expectation is a version, 0 for none, NULL for anything.
-- Refuses with TR001 where the bookkeeping is not in place; nobody can take it away before the end of the transaction.
-- The counter is locked first of all rows and may be waited for. Behind it others may hold rows while they wait for the counter: then
-- this gives way long before the server would choose one of the two.
-- Every look-up here has an index. A sequence is only ever scanned, which would seem costly enough to compile.
CREATE OR REPLACE FUNCTION toolrail_apply(
    tenants text[], names text[], actions text[], switches boolean[], definitions text[], expectations bigint[],
    writer text
) RETURNS TABLE (
    place bigint, refused boolean, at_revision bigint, at text, stored_name text,
    enabled_before boolean, definition_before text
) LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    one record;
    found_tool mcp_tool;
    is_there boolean;
    counted bigint;
BEGIN
    LOCK TABLE mcp_tool IN ROW EXCLUSIVE MODE;
    IF NOT toolrail_is_watching() THEN
        RAISE EXCEPTION 'mcp_tool has lost triggers of Toolrail' USING ERRCODE = 'TR001';
    END IF;
    PERFORM set_config('toolrail.who', writer, TRUE);
    UPDATE mcp_config_version SET held_by = txid_current() WHERE id = 1 RETURNING version INTO STRICT counted;
    PERFORM mcp_tool_draw_after(counted);
    PERFORM set_config('lock_timeout', '400ms', TRUE);
    FOR one IN
        SELECT given.*, coalesce(given.tenant, '') AS key_tenant, lower(given.name COLLATE "C") AS key_name
        FROM unnest(tenants, names, actions, switches, definitions, expectations) WITH ORDINALITY
            AS given (tenant, name, action, enabled, definition, expected, nth)
        ORDER BY given.nth
    LOOP
        SELECT tool.* INTO found_tool FROM mcp_tool AS tool
        WHERE coalesce(tool.tenant_id, '') = one.key_tenant AND lower(tool.name COLLATE "C") = one.key_name;
        is_there := FOUND;
        place := one.nth;
        refused := one.expected <> CASE WHEN is_there THEN found_tool.version ELSE 0 END;
        IF refused THEN
            RETURN NEXT;
            RETURN;
        END IF;
        CONTINUE WHEN NOT is_there AND one.action <> 'put';
        IF one.action = 'purge' THEN
            DELETE FROM mcp_tool AS tool
            WHERE coalesce(tool.tenant_id, '') = one.key_tenant AND lower(tool.name COLLATE "C") = one.key_name;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'a trigger of another program keeps rows of mcp_tool from being deleted; drop it';
            END IF;
            DELETE FROM mcp_tool_use AS used WHERE used.tenant = one.key_tenant AND used.name_key = one.key_name;
        ELSIF one.action = 'switch' THEN
            UPDATE mcp_tool AS tool SET enabled = one.enabled
            WHERE coalesce(tool.tenant_id, '') = one.key_tenant AND lower(tool.name COLLATE "C") = one.key_name;
        ELSIF is_there THEN
            UPDATE mcp_tool AS tool
            SET name = one.name, enabled = one.enabled, config_json = mcp_tool_stored(one.definition),
                config_text = mcp_tool_written(one.definition)
            WHERE coalesce(tool.tenant_id, '') = one.key_tenant AND lower(tool.name COLLATE "C") = one.key_name;
        ELSE
            INSERT INTO mcp_tool (tenant_id, name, enabled, config_json, config_text)
            VALUES (nullif(one.key_tenant, ''), one.name, one.enabled, mcp_tool_stored(one.definition),
                    mcp_tool_written(one.definition));
        END IF;
        SELECT last_value INTO at_revision FROM mcp_tool_revision;
        at := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
        stored_name := CASE one.action WHEN 'put' THEN one.name ELSE found_tool.name END;
        enabled_before := CASE WHEN is_there THEN coalesce(found_tool.enabled, FALSE) END;
        definition_before := CASE WHEN is_there THEN mcp_tool_document(found_tool) END;
        RETURN NEXT;
    END LOOP;
    SELECT last_value INTO counted FROM mcp_tool_revision;
    UPDATE mcp_config_version SET version = greatest(version, counted), held_by = NULL WHERE id = 1;
END
$$;
