//! Metadata columns in SQL: found by name, left out of `*`.
//!
//! DataFusion has no hidden columns: a table has the columns of its provider's schema, and `*` is all of them. So a
//! query that names a metadata column is planned over providers that have them, with each `*` that would include them
//! rewritten to exclude them again. Queries that name none are planned as they are.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::common::{ResolvedTableReference, TableReference, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SessionState;

use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement as SqlStatement, TableFactor, Visit, VisitMut, Visitor,
    VisitorMut, WildcardAdditionalOptions,
};

use crate::metadata_columns::MetadataColumn;
use crate::provider::LakelockTableProvider;

/// Whether a query names a metadata column anywhere.
pub(crate) fn mentions_metadata_columns(statement: &Statement) -> bool {
    struct Mentions;
    impl Visitor for Mentions {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(names) => names.last(),
                _ => None,
            };
            match name.and_then(|name| MetadataColumn::by_name(&name.value.to_ascii_lowercase())) {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        }
    }
    query_of(statement).is_some_and(|query| query.visit(&mut Mentions).is_break())
}

/// Rewrites a query's stars, and returns a state in which its Lakelock tables have metadata columns.
pub(crate) async fn expose_metadata_columns(state: SessionState, statement: &mut Statement) -> Result<SessionState> {
    let mut tables = HashMap::new();
    let mut hidden = HashMap::new();
    for reference in state.resolve_table_references(statement)? {
        let resolved = resolve(&state, reference);
        let Ok(schema) = state.schema_for_ref(TableReference::from(resolved.clone())) else { continue };
        let Some(table) = schema.table(&resolved.table).await? else { continue };
        let Some(lakelock) = <dyn TableProvider>::downcast_ref::<LakelockTableProvider>(table.as_ref()) else {
            continue;
        };
        let exposed = lakelock.clone().with_metadata_columns();
        let schema = exposed.schema();
        let names = schema.fields().iter().filter_map(|field| MetadataColumn::of(field)).map(MetadataColumn::name);
        hidden.insert(resolved.clone(), names.collect::<Vec<_>>());
        tables.insert(resolved, Arc::new(exposed) as Arc<dyn TableProvider>);
    }
    let mut rewriter = StarRewriter { state: &state, hidden, common_tables: Vec::new() };
    if let Some(query) = query_of_mut(statement)
        && let ControlFlow::Break(e) = query.visit(&mut rewriter)
    {
        return Err(e);
    }
    let catalogs = Overlay { inner: Arc::clone(state.catalog_list()), path: (), tables: Arc::new(tables) };
    Ok(SessionStateBuilder::new_from_existing(state).with_catalog_list(Arc::new(catalogs)).build())
}

fn resolve(state: &SessionState, reference: TableReference) -> ResolvedTableReference {
    let defaults = &state.config_options().catalog;
    reference.resolve(&defaults.default_catalog, &defaults.default_schema)
}

fn query_of(statement: &Statement) -> Option<&Query> {
    match statement {
        Statement::Statement(statement) => match statement.as_ref() {
            SqlStatement::Query(query) => Some(query),
            _ => None,
        },
        Statement::Explain(explain) => query_of(&explain.statement),
        _ => None,
    }
}

fn query_of_mut(statement: &mut Statement) -> Option<&mut Query> {
    match statement {
        Statement::Statement(statement) => match statement.as_mut() {
            SqlStatement::Query(query) => Some(query),
            _ => None,
        },
        Statement::Explain(explain) => query_of_mut(&mut explain.statement),
        _ => None,
    }
}

struct StarRewriter<'a> {
    state: &'a SessionState,
    /// The metadata columns of each Lakelock table of the query.
    hidden: HashMap<ResolvedTableReference, Vec<&'static str>>,
    /// Names that `with` has defined, per enclosing query.
    common_tables: Vec<HashSet<String>>,
}

impl VisitorMut for StarRewriter<'_> {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        let names = query.with.iter().flat_map(|with| &with.cte_tables).map(|table| normalize(&table.alias.name));
        self.common_tables.push(names.collect());
        match self.rewrite_body(&mut query.body) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => ControlFlow::Break(e),
        }
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<DataFusionError> {
        self.common_tables.pop();
        ControlFlow::Continue(())
    }
}

/// Something in a `from` clause.
struct Relation {
    /// What its columns are qualified with.
    qualifier: Option<ObjectName>,
    hidden: Vec<&'static str>,
}

impl StarRewriter<'_> {
    /// Rewrites the selects of one query; those of queries inside it are visited on their own.
    fn rewrite_body(&self, body: &mut SetExpr) -> Result<()> {
        match body {
            SetExpr::Select(select) => self.rewrite_select(select),
            SetExpr::SetOperation { left, right, .. } => {
                self.rewrite_body(left)?;
                self.rewrite_body(right)
            }
            _ => Ok(()),
        }
    }

    fn rewrite_select(&self, select: &mut Select) -> Result<()> {
        let joins = || select.from.iter().flat_map(|from| &from.joins);
        let factors = select.from.iter().map(|from| &from.relation).chain(joins().map(|join| &join.relation));
        let relations = factors.map(|factor| self.relation(factor)).collect::<Result<Vec<_>>>()?;
        if relations.iter().all(|relation| relation.hidden.is_empty()) {
            return Ok(());
        }
        let constraints: Vec<_> = joins().filter_map(|join| constraint(&join.join_operator)).collect();
        if constraints.iter().any(|constraint| matches!(constraint, JoinConstraint::Natural)) {
            return plan_err!("NATURAL JOIN would also join on metadata columns: say ON or USING in such a query");
        }
        let using = constraints.iter().any(|constraint| matches!(constraint, JoinConstraint::Using(_)));
        let mut items = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(_) if using => {
                    return plan_err!("name the columns instead of * in a query with USING and metadata columns");
                }
                SelectItem::Wildcard(mut options) => match relations.as_slice() {
                    [relation] => {
                        exclude(&mut options, &relation.hidden);
                        items.push(SelectItem::Wildcard(options));
                    }
                    _ => items.extend(expand(&relations, &options)?),
                },
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), mut options) => {
                    if let Some(relation) = relations.iter().find(|relation| relation.is_meant_by(&name)) {
                        exclude(&mut options, &relation.hidden);
                    }
                    let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
                    items.push(SelectItem::QualifiedWildcard(kind, options));
                }
                other => items.push(other),
            }
        }
        select.projection = items;
        Ok(())
    }

    fn relation(&self, factor: &TableFactor) -> Result<Relation> {
        let (name, alias) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => (Some(name), alias),
            TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => (None, alias),
            TableFactor::NestedJoin { .. } => {
                return plan_err!("joins in parentheses are not supported in a query with metadata columns");
            }
            _ => (None, &None),
        };
        let qualifier = match alias {
            Some(alias) => Some(ObjectName::from(vec![alias.name.clone()])),
            None => name.cloned(),
        };
        Ok(Relation { qualifier, hidden: name.map(|name| self.hidden_columns(name)).transpose()?.unwrap_or_default() })
    }

    fn hidden_columns(&self, name: &ObjectName) -> Result<Vec<&'static str>> {
        let normalize = self.state.config_options().sql_parser.enable_ident_normalization;
        let reference = object_name_to_table_reference(name.clone(), normalize)?;
        if let TableReference::Bare { table } = &reference
            && self.common_tables.iter().any(|tables| tables.contains(table.as_ref()))
        {
            return Ok(Vec::new());
        }
        Ok(self.hidden.get(&resolve(self.state, reference)).cloned().unwrap_or_default())
    }
}

impl Relation {
    fn is_meant_by(&self, qualifier: &ObjectName) -> bool {
        let parts = |name: &ObjectName| -> Vec<String> {
            name.0.iter().filter_map(|part| part.as_ident()).map(normalize).collect()
        };
        self.qualifier.as_ref().is_some_and(|own| parts(own).ends_with(&parts(qualifier)))
    }
}

/// `*` over several relations, as one star for each.
fn expand(relations: &[Relation], options: &WildcardAdditionalOptions) -> Result<Vec<SelectItem>> {
    let plain = WildcardAdditionalOptions { wildcard_token: options.wildcard_token.clone(), ..Default::default() };
    if *options != plain {
        return plan_err!("name the columns instead of * with options in a join with metadata columns");
    }
    let stars = relations.iter().map(|relation| {
        let Some(qualifier) = &relation.qualifier else {
            return plan_err!("a subquery without a name is not supported in a query with metadata columns");
        };
        let mut options = plain.clone();
        exclude(&mut options, &relation.hidden);
        let kind = SelectItemQualifiedWildcardKind::ObjectName(qualifier.clone());
        Ok(SelectItem::QualifiedWildcard(kind, options))
    });
    stars.collect()
}

fn exclude(options: &mut WildcardAdditionalOptions, hidden: &[&'static str]) {
    if hidden.is_empty() {
        return;
    }
    let mut names = match options.opt_exclude.take() {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
    };
    for column in hidden {
        let name = ObjectName::from(vec![Ident::new(*column)]);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}

fn normalize(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_ascii_lowercase() }
}

/// Catalogs in which some tables are replaced. `path` is where in them this is: at the top, in a catalog, in a schema.
#[derive(Debug)]
struct Overlay<T: ?Sized, P> {
    inner: Arc<T>,
    path: P,
    tables: Arc<HashMap<ResolvedTableReference, Arc<dyn TableProvider>>>,
}

impl CatalogProviderList for Overlay<dyn CatalogProviderList, ()> {
    fn register_catalog(&self, name: String, catalog: Arc<dyn CatalogProvider>) -> Option<Arc<dyn CatalogProvider>> {
        self.inner.register_catalog(name, catalog)
    }

    fn catalog_names(&self) -> Vec<String> {
        self.inner.catalog_names()
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        let inner = self.inner.catalog(name)?;
        Some(Arc::new(Overlay { inner, path: name.to_owned(), tables: Arc::clone(&self.tables) }))
    }
}

impl CatalogProvider for Overlay<dyn CatalogProvider, String> {
    fn schema_names(&self) -> Vec<String> {
        self.inner.schema_names()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let inner = self.inner.schema(name)?;
        let path = (self.path.clone(), name.to_owned());
        Some(Arc::new(Overlay { inner, path, tables: Arc::clone(&self.tables) }))
    }
}

#[async_trait]
impl SchemaProvider for Overlay<dyn SchemaProvider, (String, String)> {
    fn table_names(&self) -> Vec<String> {
        self.inner.table_names()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let (catalog, schema) = &self.path;
        let reference = ResolvedTableReference {
            catalog: catalog.as_str().into(),
            schema: schema.as_str().into(),
            table: name.into(),
        };
        match self.tables.get(&reference) {
            Some(table) => Ok(Some(Arc::clone(table))),
            None => self.inner.table(name).await,
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        self.inner.table_exist(name)
    }
}
