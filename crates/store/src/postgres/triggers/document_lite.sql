-- The definition that a row holds, as JSON text.
CREATE OR REPLACE FUNCTION mcp_tool_document(tool mcp_tool) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((tool).config_text, (tool).config_json::text, 'null')
$$;

-- Keeps config_text from contradicting config_json: where another program changes the one, the other goes.
CREATE OR REPLACE FUNCTION mcp_tool_agree() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF NEW.config_text IS NULL THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.config_text IS NOT DISTINCT FROM OLD.config_text
            AND NEW.config_json::text IS NOT DISTINCT FROM OLD.config_json::text THEN
        RETURN NEW;
    END IF;
    IF mcp_tool_stored(NEW.config_text)::text IS DISTINCT FROM NEW.config_json::text THEN
        NEW.config_text := NULL;
    END IF;
    RETURN NEW;
END
$$;
