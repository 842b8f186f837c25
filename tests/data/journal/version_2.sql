-- A journal as version 2 wrote it. Never changed: what migrations are tested with.
-- A conversation; `holder` is the process that writes to it ("pid born"), empty once that has let go.
create table conversations (
  number integer primary key, id text not null unique, title text not null, began_at real not null,
  changed_at real not null, holder text not null default '');

-- A person's words and all that came of them. `ended` is empty while it runs, and stays so where the process died.
create table turns (
  number integer primary key, id text not null unique, conversation text not null, began_at real not null,
  model text not null, ended text not null default '');
create index turns_of on turns (conversation);

-- What a turn used. Stays when its conversation is deleted: it holds no words.
create table usage (
  turn text primary key, at real not null, model text not null, input_tokens integer not null,
  output_tokens integer not null, cache_read_tokens integer not null, cache_write_tokens integer not null,
  cost_usd real);
create index usage_at on usage (at);

-- What the presence showed, as JSON. `said` is what a search finds.
create table events (
  number integer primary key, conversation text not null, turn text not null, at real not null, event text not null);
create index events_of on events (conversation);
create virtual table said using fts5(text, conversation unindexed, tokenize = 'unicode61 remove_diacritics 2');

-- The conversation as the model reads it. `altered`: a secret or a picture was left out.
create table entries (
  number integer primary key, conversation text not null, kind text not null, message text not null,
  altered integer not null);
create index entries_of on entries (conversation);

-- The pass that runs: what the model has said in it, and what it called. Gone once the pass is among the entries.
create table drafts (conversation text primary key, message text not null, altered integer not null);
create table calls (
  number integer primary key, conversation text not null, turn text not null, call_id text not null,
  tool text not null, arguments text not null, began_at real not null, outcome text not null default '');
create index calls_of on calls (conversation, call_id);

-- What the person said while a turn ran and the model has not read yet.
create table meanwhile (number integer primary key, conversation text not null, text text not null);

-- Who allowed what, and what came of it. Each entry's hash covers the entry before it.
create table audit (
  number integer primary key, at real not null, kind text not null, conversation text not null, turn text not null,
  details text not null, previous text not null, hash text not null);
create trigger audit_is_never_changed before update on audit begin
  select raise(abort, 'the audit is only ever added to');
end;
create trigger audit_is_never_deleted before delete on audit begin
  select raise(abort, 'the audit is only ever added to');
end;

insert into conversations values (1, 'talk-1', 'What is the capital of France?', 1795315743.5, 1795315743.6, '');
insert into turns values (1, 'turn-1', 'talk-1', 1795315743.5, 'claude-sonnet-4-5', 'finished');
insert into usage values ('turn-1', 1795315743.5, 'claude-sonnet-4-5', 1000, 20, 0, 0, 0.25);
insert into events values (1, 'talk-1', 'turn-1', 1795315743.5, '{"is":"TurnStarted","turn_id":"turn-1","text":"What is the capital of France?"}');
insert into events values (2, 'talk-1', 'turn-1', 1795315743.5, '{"is":"PassStarted","number":1}');
insert into events values (3, 'talk-1', 'turn-1', 1795315743.5, '{"is":"SayDelta","call_id":"","tone":"","text":"Paris, on the Seine."}');
insert into events values (4, 'talk-1', 'turn-1', 1795315743.6, '{"is":"UsageChanged","input_tokens":1000,"output_tokens":20,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":0.25}');
insert into events values (5, 'talk-1', 'turn-1', 1795315743.6, '{"is":"TurnEnded","turn_id":"turn-1","outcome":"finished","text":"Paris, on the Seine."}');
insert into said (rowid, text, conversation) values (1, 'What is the capital of France?', 'talk-1');
insert into said (rowid, text, conversation) values (3, 'Paris, on the Seine.', 'talk-1');
insert into entries values (1, 'talk-1', 'PERSON', '{"role":"user","parts":[{"is":"TextPart","text":"What is the capital of France?"}]}', 0);
insert into entries values (2, 'talk-1', 'MODEL', '{"role":"assistant","parts":[{"is":"TextPart","text":"Paris, on the Seine."}]}', 0);
pragma user_version = 2;
