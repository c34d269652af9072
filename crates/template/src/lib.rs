//! Parameter substitution and the expression languages.
