-- The tables of ledgers. An agent that works needs SELECT, INSERT, UPDATE and DELETE on them, and
-- USAGE on the schema; it creates nothing.

CREATE TABLE heavybandits.agents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    chain text NOT NULL,                     -- random: two ledgers of one policy differ
    policy text NOT NULL,
    encoder text NOT NULL,
    library text NOT NULL,                   -- version of heavybandits that created it
    epoch bigint NOT NULL,                   -- the fence: each opening increments it
    writer text NOT NULL,                    -- the agent that opened it last
    opened timestamptz NOT NULL DEFAULT now(),
    end_event bigint NOT NULL,               -- number and link of the last event
    end_link bytea NOT NULL
);

-- Each opening issues tickets under an id of its own, from this ticket on.
CREATE TABLE heavybandits.owners (
    ledger bigint NOT NULL,
    first bigint NOT NULL,
    agent text NOT NULL,
    PRIMARY KEY (ledger, first)
);

CREATE TABLE heavybandits.states (
    ledger bigint NOT NULL,
    event bigint NOT NULL,
    seal bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (ledger, event)
);

CREATE TABLE heavybandits.events (
    ledger bigint NOT NULL,
    event bigint NOT NULL,
    kind text NOT NULL,
    ticket bigint NOT NULL,
    time double precision NOT NULL,
    event_id text COLLATE "C",
    decision_group text COLLATE "C",
    version bigint,
    reward double precision,
    noise_scale double precision,
    previous_reward double precision,
    lesson bigint,
    arm bigint,
    action text COLLATE "C",
    expected double precision,
    width double precision,
    propensity double precision,
    available text,
    features bytea,
    rewards bytea,
    arrays text,
    generator text,
    inputs_hash bytea,
    name text COLLATE "C",
    link bytea NOT NULL,
    PRIMARY KEY (ledger, event)
) PARTITION BY HASH (ledger);

CREATE TABLE heavybandits.inputs (
    ledger bigint NOT NULL,
    event bigint NOT NULL,
    salt bytea NOT NULL,
    context text,
    actions text,
    arms bytea,
    rows text,
    PRIMARY KEY (ledger, event)
) PARTITION BY HASH (ledger);

DO $$
BEGIN
    FOR part IN 0..7 LOOP
        EXECUTE format('CREATE TABLE heavybandits.events_%s PARTITION OF heavybandits.events '
                       'FOR VALUES WITH (MODULUS 8, REMAINDER %s)', part, part);
        EXECUTE format('CREATE TABLE heavybandits.inputs_%s PARTITION OF heavybandits.inputs '
                       'FOR VALUES WITH (MODULUS 8, REMAINDER %s)', part, part);
    END LOOP;
END $$;

CREATE UNIQUE INDEX event_ids ON heavybandits.events (ledger, event_id) WHERE event_id IS NOT NULL;
CREATE UNIQUE INDEX settled ON heavybandits.events (ledger, ticket)
    WHERE kind IN ('reward', 'cancel', 'expire');
CREATE UNIQUE INDEX marks ON heavybandits.events (ledger, name) WHERE kind = 'mark';
CREATE INDEX revised ON heavybandits.events (ledger, ticket) WHERE kind = 'revise';

CREATE VIEW heavybandits.plays AS
SELECT one.name AS agent, ask.ticket, ask.time, ask.event_id, ask.decision_group, ask.version,
       ask.arm, ask.action, ask.expected, ask.width, ask.propensity, ask.available,
       done.kind AS outcome,
       CASE WHEN last.event > done.event THEN last.reward ELSE done.reward END AS reward,
       done.time AS settled, done.reward AS first_reward, ask.features,
       raw.context, raw.actions, raw.arms, ask.event
FROM heavybandits.agents one
JOIN heavybandits.events ask ON ask.ledger = one.id AND ask.kind = 'select'
LEFT JOIN heavybandits.inputs raw ON raw.ledger = ask.ledger AND raw.event = ask.event
LEFT JOIN heavybandits.events done ON done.ledger = ask.ledger AND done.ticket = ask.ticket
    AND done.kind IN ('reward', 'cancel', 'expire')
LEFT JOIN heavybandits.events last ON last.ledger = ask.ledger AND last.event =
    (SELECT max(event) FROM heavybandits.events
     WHERE ledger = ask.ledger AND ticket = ask.ticket AND kind = 'revise');
