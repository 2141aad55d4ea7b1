-- Every transform over every type that it takes, and specs that follow each other.
create table {table} (id bigint not null, number int, price decimal(9, 2), text string, raw binary, day date, at timestamp,
    at_ntz timestamp_ntz, flag boolean, ratio double) using iceberg
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}',
    'write.delete.mode' = 'merge-on-read');

insert into {table} values
    (1, -1, -1.50, 'a/b=c%20d', X'0102', date '1969-12-31', timestamp '1969-12-31 23:59:59.999999',
        timestamp_ntz '1969-12-31 23:59:59.999999', true, 0.5),
    (2, 17, 17.25, 'ünïcode ß', X'FFFE', date '2024-02-29', timestamp '2024-02-29 12:00:00', timestamp_ntz '2024-02-29 12:00:00',
        false, double('NaN')),
    (3, null, null, null, null, null, null, null, null, null);
alter table {table} add partition field bucket(3, id);
alter table {table} add partition field truncate(4, text) as short;
alter table {table} add partition field years(day);
insert into {table} select id + 10, number, price, text, raw, day, at, at_ntz, flag, ratio from {table};
alter table {table} replace partition field years(day) with months(day);
alter table {table} drop partition field short;
alter table {table} add partition field days(at);
insert into {table} select id + 100, number, price, text, raw, day, at, at_ntz, flag, ratio from {table} where id < 10;
alter table {table} drop partition field bucket(3, id);
alter table {table} drop partition field months(day);
alter table {table} replace partition field days(at) with hours(at);
alter table {table} add partition field hours(at_ntz);
alter table {table} add partition field truncate(10, number);
alter table {table} add partition field truncate(1, raw);
alter table {table} add partition field bucket(5, price);
insert into {table} select id + 200, number, price, text, raw, day, at, at_ntz, flag, ratio from {table} where id < 10;
alter table {table} drop partition field hours(at);
alter table {table} drop partition field hours(at_ntz);
alter table {table} drop partition field truncate(10, number);
alter table {table} drop partition field truncate(1, raw);
alter table {table} drop partition field bucket(5, price);
alter table {table} add partition field text;
alter table {table} add partition field flag;
alter table {table} add partition field day;
alter table {table} add partition field price;
alter table {table} add partition field bucket(7, at_ntz);
alter table {table} add partition field bucket(7, text);
insert into {table} select id + 300, number, price, text, raw, day, at, at_ntz, flag, ratio from {table} where id < 10;
select id from {table} where text = 'a/b=c%20d' order by id;
select id from {table} where text like 'ün%' and number > 0 order by id;
select id from {table} where at < timestamp '1970-01-01 00:00:00' order by id;
select id from {table} where at_ntz >= '2024-02-29 00:00:00' and at_ntz < '2024-03-01 00:00:00' order by id;
select id from {table} where day = date '2024-02-29' order by id;
select id from {table} where day <> date '2024-02-29' order by id;
select id from {table} where flag is null order by id;
select id from {table} where number in (17, 18) and id > 100 order by id;
select id from {table} where price between -2 and 0 order by id;
delete from {table} where id in (11, 101, 301);
delete from {table} where flag = false and id > 200;
alter table {table} rename column text to words;
select id from {table} where words = 'a/b=c%20d' order by id;
call locked.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'));
select id from {table} where number = -1 order by id;
