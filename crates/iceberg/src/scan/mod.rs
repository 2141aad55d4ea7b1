//! Scan planning: which files of a snapshot may hold rows that match.
