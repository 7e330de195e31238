-- Tells every stationmaster at once which gateway changed; without it a change is seen within registry.fresh_for.
BEGIN;

CREATE FUNCTION stationmaster_gateways_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM pg_notify('stationmaster_gateways', OLD.eui);
    END IF;
    IF TG_OP = 'INSERT' OR (TG_OP = 'UPDATE' AND NEW.eui <> OLD.eui) THEN
        PERFORM pg_notify('stationmaster_gateways', NEW.eui);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER stationmaster_gateways_changed
    AFTER INSERT OR UPDATE OR DELETE ON stationmaster_gateways
    FOR EACH ROW EXECUTE FUNCTION stationmaster_gateways_changed();

COMMIT;
