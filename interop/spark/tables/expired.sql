-- Snapshots that are gone, with the files that only they had.
create table {table} (id bigint not null, name string) using iceberg
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.delete.mode' = 'merge-on-read',
    'write.metadata.previous-versions-max' = '2', 'write.metadata.delete-after-commit.enabled' = 'true');

insert into {table} select id, concat('n', id) from range(0, 10);
insert into {table} select id, concat('n', id) from range(10, 20);
alter table {table} create tag kept;
delete from {table} where id < 3;
call locked.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'));
insert into {table} values (100, 'late');
call locked.system.expire_snapshots(table => '{table}', older_than => timestamp '2100-01-01 00:00:00', retain_last => 2,
    clean_expired_metadata => true);
insert into {table} values (101, 'later');
