-- Branches, tags, audited writes, and a table set back and forth.
create table {table} (id bigint not null, name string) using iceberg
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}',
    'write.delete.mode' = 'merge-on-read');

insert into {table} values (1, 'one'), (2, 'two'), (3, 'three');
alter table {table} create tag v1 retain 365 days;
alter table {table} create branch audit;
insert into {table}.branch_audit values (4, 'four');
delete from {table}.branch_audit where id = 1;
insert into {table} values (5, 'five');
alter table {table} add column more int;
alter table {table} rename column name to title;
insert into {table}.branch_audit values (6, 'six', 66);
alter table {table} create branch if not exists `of audit`;
alter table {table} set tblproperties ('write.wap.enabled' = 'true');
set spark.wap.id = wap-1;
insert into {table} values (7, 'staged', 77);
set spark.wap.id = wap-2;
insert into {table} values (8, 'staged too', 88);
set spark.wap.id = wap-3;
delete from {table} where id = 2;
reset spark.wap.id;
insert into {table} values (9, 'nine', 99);
call locked.system.publish_changes('{table}', 'wap-1');
declare or replace variable snapshot bigint;
set variable snapshot = (select snapshot_id from {table}.snapshots where summary['wap.id'] = 'wap-2');
call locked.system.cherrypick_snapshot('{table}', snapshot);
set spark.wap.branch = staging;
insert into {table} values (10, 'on a branch', 0);
update {table} set title = 'changed there' where id = 2;
reset spark.wap.branch;
alter table {table} create tag before;
call locked.system.fast_forward('{table}', 'main', 'staging');
set variable snapshot = (select min_by(snapshot_id, committed_at) from {table}.snapshots);
call locked.system.rollback_to_snapshot('{table}', snapshot);
insert into {table} values (11, 'after a rollback', 11);
set variable snapshot = (select snapshot_id from {table}.refs where name = 'before');
call locked.system.set_current_snapshot('{table}', snapshot);
alter table {table} create or replace tag v1;
alter table {table} drop branch `of audit`;
alter table {table} unset tblproperties ('write.wap.enabled');
delete from {table} where id = 5;
insert into {table} values (12, 'twelve', 12);
