-- The example registry of stationmaster in PostgreSQL (registry.kind: postgres). Apply the files of this folder in order,
-- each once, e.g.  psql -v ON_ERROR_STOP=1 -f 001_gateways.sql
BEGIN;

CREATE TABLE stationmaster_gateways (
    -- 16 lower-case hex digits
    eui           text PRIMARY KEY CHECK (eui ~ '^[0-9a-f]{16}$'),
    tenant        text NOT NULL DEFAULT 'default',
    plan          text NOT NULL DEFAULT '',           -- empty = plans.default
    antenna_gain  real NOT NULL DEFAULT 0,            -- dBi
    latitude      double precision CHECK (latitude BETWEEN -90 AND 90),
    longitude     double precision CHECK (longitude BETWEEN -180 AND 180),
    altitude      double precision,                   -- metres
    allow_rmtsh   boolean NOT NULL DEFAULT false,
    allow_runcmd  boolean NOT NULL DEFAULT false,
    credential    text NOT NULL DEFAULT 'none' CHECK (credential IN ('none', 'token', 'certificate', 'both')),
    -- What is valid now, several while they rotate. Prefer digests: see openapi.yaml for how they are made.
    tokens        text[] NOT NULL DEFAULT '{}',
    token_digests text[] NOT NULL DEFAULT '{}',
    tags          jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(tags) = 'object'),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CHECK ((latitude IS NULL) = (longitude IS NULL))
);

COMMIT;
