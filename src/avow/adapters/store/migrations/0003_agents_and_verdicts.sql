-- Who may declare, and what was concluded. A key is kept only as its digest.
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

CREATE TABLE verdicts (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  position BIGINT NOT NULL,
  agent TEXT NOT NULL,
  intent TEXT NOT NULL,
  outcome TEXT NOT NULL,
  at_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);
