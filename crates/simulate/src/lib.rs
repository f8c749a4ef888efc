//! Engines that do as they are told, for demonstrations and tests. No real run needs anything in here.
