#include "catalog.hpp"

#include "duckdb/common/file_system.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/secret/secret.hpp"
#include "duckdb/main/secret/secret_manager.hpp"
#include "duckdb/parser/parsed_data/attach_info.hpp"

#include <filesystem>

namespace lakelock {

namespace {

using Properties = vector<pair<string, string>>;

//! Names of options cannot have dots and dashes: `s3_path_style_access` stands for `s3.path-style-access`. The property's
//! first words are its family and are followed by a dot, all others by a dash.
string PropertyName(const string &option) {
	static const vector<pair<string, string>> families = {
	    {"adls_auth_shared_key_account_", "adls.auth.shared-key.account."},
	    {"client_assume_role_", "client.assume-role."},
	    {"gcs_oauth2_", "gcs.oauth2."},
	    {"gcs_service_", "gcs.service."},
	    {"s3_retry_", "s3.retry."},
	    {"s3_sse_", "s3.sse."},
	    {"s3_write_", "s3.write."},
	    {"storage_retry_", "storage.retry."},
	};
	for (auto &family : families) {
		if (StringUtil::StartsWith(option, family.first)) {
			return family.second + StringUtil::Replace(option.substr(family.first.size()), "_", "-");
		}
	}
	auto dot = option.find('_');
	if (dot == string::npos) {
		throw BinderException("\"%s\" is no option of a lakelock catalog. Options are ENCRYPTED and the storage properties, "
		                      "such as S3_ENDPOINT for s3.endpoint; to pass them through DuckLake put META_ before",
		                      option);
	}
	return option.substr(0, dot) + "." + StringUtil::Replace(option.substr(dot + 1), "_", "-");
}

//! Local paths may be relative to the working directory or the home folder, as everywhere in DuckDB.
string Location(ClientContext &context, const string &path) {
	if (path.empty() || FileSystem::IsRemoteFile(path) || StringUtil::Contains(path, "://") ||
	    StringUtil::StartsWith(path, "file:")) {
		return path;
	}
	auto expanded = FileSystem::GetFileSystem(context).ExpandPath(path);
	return std::filesystem::absolute(expanded).lexically_normal().string();
}

//! What DuckDB itself would use for the location, unless a property was given.
void AddSecret(ClientContext &context, const string &location, Properties &properties) {
	if (!StringUtil::StartsWith(location, "s3://") && !StringUtil::StartsWith(location, "s3a://") &&
	    !StringUtil::StartsWith(location, "s3n://")) {
		return;
	}
	auto transaction = CatalogTransaction::GetSystemCatalogTransaction(context);
	auto match = SecretManager::Get(context).LookupSecret(transaction, location, "s3");
	if (!match.HasMatch()) {
		return;
	}
	auto &secret = dynamic_cast<const KeyValueSecret &>(*match.secret_entry->secret);
	auto add = [&](const string &property, const string &value) {
		for (auto &given : properties) {
			if (given.first == property) {
				return;
			}
		}
		properties.emplace_back(property, value);
	};
	auto text = [&](const string &key) {
		auto value = secret.TryGetValue(key);
		return value.IsNull() ? string() : value.ToString();
	};
	auto add_text = [&](const string &property, const string &key) {
		auto value = text(key);
		if (!value.empty()) {
			add(property, value);
		}
	};
	add_text("s3.access-key-id", "key_id");
	add_text("s3.secret-access-key", "secret");
	add_text("s3.session-token", "session_token");
	add_text("client.region", "region");
	auto endpoint = text("endpoint");
	// The secret of Amazon's own S3 names its host too; the region says it all.
	if (!endpoint.empty() && endpoint != "s3.amazonaws.com") {
		auto scheme = text("use_ssl") == "false" ? "http://" : "https://";
		add("s3.endpoint", StringUtil::Contains(endpoint, "://") ? endpoint : scheme + endpoint);
	}
	if (text("url_style") == "path") {
		add("s3.path-style-access", "true");
	}
}

} // namespace

LakeOptions LakeOptions::FromAttach(ClientContext &context, const AttachInfo &info, const AttachOptions &options) {
	LakeOptions result;
	result.location = Location(context, info.path);
	result.read_only = options.access_mode == AccessMode::READ_ONLY;
	for (auto &option : options.options) {
		auto name = StringUtil::Lower(option.first);
		if (name == "encrypted") {
			result.encrypted = BooleanValue::Get(option.second.DefaultCastAs(LogicalType::BOOLEAN));
		} else {
			result.properties.emplace_back(PropertyName(name), option.second.ToString());
		}
	}
	AddSecret(context, result.location, result.properties);
	return result;
}

} // namespace lakelock
