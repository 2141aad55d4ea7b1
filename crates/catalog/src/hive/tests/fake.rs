//! A metastore in memory, which fails when it is told to.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use super::super::thrift::{Message, MessageKind, Struct, Value};

/// What happens to the next change of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is made, and the connection breaks.
    Answerless,
    /// The connection breaks before it is made.
    Lost,
    /// It is made, and then refused as if another writer had been first, as a metastore does that tries again by itself.
    MadeAndRefused,
    /// It is refused for another reason.
    Refused,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) tables: HashMap<String, Struct>,
    pub(super) calls: Vec<String>,
    pub(super) fault: Option<Fault>,
    /// Whether it has the methods of old alone.
    pub(super) is_old: bool,
    /// How often a lock is yet to be waited for.
    pub(super) waits: u32,
    /// A parameter that the next reader of a table sees as it was before a change, beside others as they are after it.
    pub(super) stale: Option<(&'static str, String)>,
}

#[derive(Debug, Clone)]
pub(super) struct FakeMetastore {
    pub(super) port: u16,
    state: Arc<Mutex<State>>,
}

impl FakeMetastore {
    /// Starts one with an empty database `db`.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let started = Self { port: listener.local_addr().unwrap().port(), state: Arc::default() };
        let serving = started.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let serving = serving.clone();
                thread::spawn(move || serving.serve(&stream.unwrap()));
            }
        });
        started
    }

    /// A server of something else.
    pub(super) fn start_another_service() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            }
        });
        port
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The parameters of a table.
    pub(super) fn parameters(&self, table: &str) -> HashMap<String, String> {
        self.state().tables[table].strings(9).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    }

    /// Sets or removes a parameter of a table.
    pub(super) fn set_parameter(&self, table: &str, name: &str, value: Option<&str>) {
        set_parameter(self.state().tables.get_mut(table).unwrap(), name, value);
    }

    fn serve(&self, stream: &TcpStream) {
        while let Ok(call) = Message::read(&mut &*stream) {
            let Some((kind, body)) = self.state().answer(&call.method, &call.body) else { return };
            let answer = Message { kind, method: call.method, sequence: call.sequence, body };
            if answer.write(&mut &*stream).is_err() {
                return;
            }
        }
    }
}

fn set_parameter(table: &mut Struct, name: &str, value: Option<&str>) {
    let parameters = table.strings(9).filter(|(known, _)| *known != name);
    let parameters: Vec<_> = parameters.chain(value.map(|value| (name, value))).collect();
    let parameters = Value::map(parameters.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    table.set(9, parameters);
}

impl State {
    /// The answer to a call, or `None` to break the connection.
    fn answer(&mut self, method: &str, arguments: &Struct) -> Option<(MessageKind, Struct)> {
        self.calls.push(method.to_owned());
        let reply = |value: Value| Some((MessageKind::Reply, Struct::default().with(0, value)));
        let done = || Some((MessageKind::Reply, Struct::default()));
        let refuse = |field, message: &str| {
            Some((MessageKind::Reply, Struct::default().with(field, Struct::default().with(1, message))))
        };
        let lock = |state: i32| reply(Struct::default().with(1, 77_i64).with(2, state).into());
        match method {
            "get_table_req" | "get_table_objects_by_name_req" if self.is_old => {
                let body = Struct::default().with(1, "Invalid method name").with(2, 1);
                Some((MessageKind::Exception, body))
            }
            "get_database" if arguments.string(1) == Some("db") => {
                reply(Struct::default().with(1, "db").with(2, "of tests").with(7, 1).into())
            }
            "get_database" => refuse(1, "no such database"),
            "get_table_req" => match self.tables.get(arguments.structure(1)?.string(2)?).cloned() {
                Some(mut table) => {
                    if let Some((name, value)) = self.stale.take() {
                        set_parameter(&mut table, name, Some(&value));
                    }
                    reply(Struct::default().with(1, table).into())
                }
                None => refuse(2, "no such table"),
            },
            "get_table" => match self.tables.get(arguments.string(2)?) {
                Some(table) => reply(table.clone().into()),
                None => refuse(2, "no such table"),
            },
            "get_all_tables" => reply(Value::list_of_strings(self.tables.keys().map(String::as_str))),
            "get_table_objects_by_name" => reply(Value::structs(self.tables.values().cloned())),
            "get_table_objects_by_name_req" => {
                reply(Struct::default().with(1, Value::structs(self.tables.values().cloned())).into())
            }
            "create_table" | "alter_table_with_environment_context" => {
                let table = arguments.structure(if method == "create_table" { 1 } else { 3 })?.clone();
                let fault = self.fault.take();
                if !matches!(fault, Some(Fault::Lost | Fault::Refused)) {
                    self.tables.insert(table.string(1)?.to_owned(), table);
                }
                match fault {
                    None => done(),
                    Some(Fault::Answerless | Fault::Lost) => None,
                    Some(Fault::MadeAndRefused) => {
                        refuse(2, "The table has been modified. The parameter value for key 'metadata_location' is 'x'")
                    }
                    Some(Fault::Refused) => refuse(2, "no \u{1b}[31mdisk\nspace"),
                }
            }
            "drop_table" => match self.tables.remove(arguments.string(2)?) {
                Some(_) => done(),
                None => refuse(1, "no such table"),
            },
            "lock" | "check_lock" if self.waits > 0 => {
                self.waits -= 1;
                lock(2)
            }
            "lock" | "check_lock" => lock(1),
            "unlock" | "heartbeat" => done(),
            _ => refuse(9, "not expected"),
        }
    }
}
