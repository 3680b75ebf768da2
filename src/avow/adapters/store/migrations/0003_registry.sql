-- Who may ask: agents and people. A key is kept only as its digest.
CREATE TABLE agents (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  trust TEXT NOT NULL,
  key_digest TEXT NOT NULL,
  did TEXT,
  added_ms BIGINT NOT NULL,
  revoked_ms BIGINT,
  PRIMARY KEY (tenant, id)
);

CREATE UNIQUE INDEX agents_by_key ON agents (key_digest);

CREATE TABLE people (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  roles TEXT NOT NULL,
  key_digest TEXT NOT NULL,
  added_ms BIGINT NOT NULL,
  revoked_ms BIGINT,
  PRIMARY KEY (tenant, id)
);

CREATE UNIQUE INDEX people_by_key ON people (key_digest);

-- What was concluded. Verdicts that say the same share one row of conclusions.
CREATE TABLE verdicts (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  position BIGINT NOT NULL,
  principal TEXT NOT NULL,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  intent TEXT NOT NULL,
  outcome TEXT NOT NULL,
  conclusion TEXT NOT NULL,
  dialect TEXT NOT NULL,
  at_ms BIGINT NOT NULL,
  expires_ms BIGINT,
  redeemed_ms BIGINT,
  reported_ms BIGINT,
  PRIMARY KEY (tenant, id)
);

CREATE INDEX verdicts_waiting ON verdicts (tenant, principal, intent) WHERE expires_ms IS NOT NULL;

CREATE TABLE conclusions (
  tenant TEXT NOT NULL,
  digest TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (tenant, digest)
);

-- What makes a repetition known: a key the caller chose, or the id of a signature.
CREATE TABLE repetitions (
  tenant TEXT NOT NULL,
  principal TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  source TEXT NOT NULL,
  verdict TEXT NOT NULL,
  expires_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant, principal, kind, id)
);

CREATE INDEX repetitions_by_expiry ON repetitions (expires_ms);

-- Policies by digest, and the one in force.
CREATE TABLE policies (
  tenant TEXT NOT NULL,
  digest TEXT NOT NULL,
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  added_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant, digest)
);

CREATE TABLE policies_in_force (
  tenant TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL
);

-- Breakers that are open now.
CREATE TABLE breakers (
  tenant TEXT NOT NULL,
  agent TEXT NOT NULL,
  means TEXT NOT NULL,
  opened_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant, agent, means)
);

-- Where a journal comes from.
CREATE TABLE journal_origins (
  tenant TEXT NOT NULL PRIMARY KEY,
  origin TEXT NOT NULL
);
