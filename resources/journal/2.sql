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
