-- A table with a column for each part of a definition, which another program may read and write. Where config_json has a
-- definition, the columns repeat it; where it has none, the columns are the definition.

-- The definition that a row holds, as JSON text. Put together as text, so that no value can make it fail.
CREATE OR REPLACE FUNCTION mcp_tool_document(tool mcp_tool) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (tool).config_text,
        (tool).config_json::text,
        '{"name":' || to_json((tool).name::text)::text
        || coalesce(',"description":' || to_json((tool).description::text)::text, '')
        || coalesce(',"transport":' || to_json((tool).transport::text)::text, '')
        || coalesce(',"inputSchema":' || nullif((tool).input_schema::text, 'null'), '')
        || coalesce(CASE (tool).transport::text WHEN 'feign' THEN ',"feign_spec":' ELSE ',"http_spec":' END
                    || nullif((tool).http_spec::text, 'null'), '')
        || coalesce(',"auth_spec":' || nullif((tool).auth_spec::text, 'null'), '')
        || coalesce(',"response_mapping":' || nullif((tool).response_mapping::text, 'null'), '')
        || coalesce(',"policy":' || nullif((tool).policy::text, 'null'), '')
        || '}')
$$;

-- The columns of a row, for telling whether they changed.
CREATE OR REPLACE FUNCTION mcp_tool_columns(tool mcp_tool) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY[(tool).description::text, (tool).input_schema::text, (tool).transport::text, (tool).http_spec::text,
                 (tool).auth_spec::text, (tool).response_mapping::text, (tool).policy::text]
$$;

-- One member of a definition under any of its names; none if it is null.
CREATE OR REPLACE FUNCTION mcp_tool_member(definition jsonb, VARIADIC names text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT definition -> member FROM unnest(names) AS member
    WHERE definition -> member <> 'null'::jsonb LIMIT 1
$$;

-- What config_json says beyond the columns, with the columns as they are now: the definition after a write to them. None
-- if there was none, or if it is no object that JSONB can hold: then the columns are all there is.
CREATE OR REPLACE FUNCTION mcp_tool_merged(tool mcp_tool, before mcp_tool) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    definition jsonb;
BEGIN
    definition := coalesce(before.config_text, before.config_json::text)::jsonb;
    IF jsonb_typeof(definition) IS DISTINCT FROM 'object' THEN
        RETURN NULL;
    END IF;
    tool.config_json := NULL;
    tool.config_text := NULL;
    RETURN (definition - ARRAY['name', 'description', 'type', 'transport', 'inputSchema', 'input_schema', 'http',
                               'http_spec', 'feign', 'feign_spec', 'auth', 'auth_spec', 'responseMapping',
                               'response_mapping', 'policy']
            || mcp_tool_document(tool)::jsonb)::json;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;

-- Keeps the columns and config_json from contradicting each other: what was written last speaks.
CREATE OR REPLACE FUNCTION mcp_tool_agree() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    definition jsonb := '{}';
    settings jsonb;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.config_json::text IS NOT DISTINCT FROM OLD.config_json::text
            AND NEW.config_text IS NOT DISTINCT FROM OLD.config_text THEN
        IF mcp_tool_columns(NEW) IS DISTINCT FROM mcp_tool_columns(OLD) THEN
            NEW.config_json := mcp_tool_merged(NEW, OLD);
            NEW.config_text := NULL;
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.config_json IS NULL THEN
        NEW.config_text := NULL;
        RETURN NEW;
    END IF;
    IF NEW.config_text IS NOT NULL
            AND mcp_tool_stored(NEW.config_text)::text IS DISTINCT FROM NEW.config_json::text THEN
        NEW.config_text := NULL;
    END IF;
    -- Text that JSON allows and JSONB does not, such as \u0000, must not keep anybody from writing.
    BEGIN
        definition := NEW.config_json::text::jsonb;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        definition := '{}';
    END;
    settings := mcp_tool_member(definition, 'http', 'http_spec', 'feign', 'feign_spec');
    IF jsonb_typeof(settings) = 'object' THEN
        settings := (settings - 'query' - 'body')
            || CASE WHEN settings ? 'query' THEN jsonb_build_object('queryTpl', settings -> 'query') ELSE '{}' END
            || CASE WHEN settings ? 'body' THEN jsonb_build_object('bodyTpl', settings -> 'body') ELSE '{}' END;
    END IF;
    NEW.description := mcp_tool_member(definition, 'description') #>> '{}';
    NEW.transport := coalesce(nullif(mcp_tool_member(definition, 'type', 'transport') #>> '{}', ''), 'http');
    NEW.input_schema := coalesce(mcp_tool_member(definition, 'inputSchema', 'input_schema'), '{"type":"object"}');
    NEW.http_spec := settings;
    NEW.auth_spec := mcp_tool_member(definition, 'auth', 'auth_spec');
    NEW.response_mapping := mcp_tool_member(definition, 'responseMapping', 'response_mapping');
    NEW.policy := mcp_tool_member(definition, 'policy');
    RETURN NEW;
END
$$;
